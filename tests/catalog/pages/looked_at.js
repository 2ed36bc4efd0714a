// What a careful reader of a page would find fault with; runs in the browser and gives a list of sentences.
() => {
  const faults = [];
  const say = (text) => faults.push(text);
  const named = (element) => element.outerHTML.replace(/\s+/g, " ").slice(0, 110);
  const visible = (element) => {
    const style = getComputedStyle(element);
    const box = element.getBoundingClientRect();
    return style.visibility !== "hidden" && style.display !== "none" && box.width > 1 && box.height > 1;
  };
  const byIds = (text) => (text || "").split(/\s+/).map((id) => document.getElementById(id)?.textContent ?? "").join(" ").trim();

  // The frame: language, title, landmarks, one h1, no skipped level.
  if (document.documentElement.lang !== "en") say("the page names no language");
  if (!/\S · Aegis$/.test(document.title)) say(`the title is ${document.title}`);
  for (const part of ["header.top", "main#content", "body > footer", "a.skip[href='#content']"])
    if (document.querySelectorAll(part).length !== 1) say(`there is not one ${part}`);
  for (const nav of document.querySelectorAll("nav")) if (!nav.getAttribute("aria-label")) say(`a nav without a name`);
  const navs = [...document.querySelectorAll("nav")].map((nav) => nav.getAttribute("aria-label"));
  if (new Set(navs).size !== navs.length) say(`two navs of one name: ${navs}`);
  let before = 0;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    const level = Number(heading.tagName[1]);
    if (level > before + 1) say(`h${level} after h${before}: ${heading.textContent.trim().slice(0, 60)}`);
    if (!heading.textContent.trim()) say(`an empty h${level}`);
    before = level;
  }
  if (document.querySelectorAll("h1").length !== 1) say("there is not one h1");

  // Names: fields, buttons, links, pictures, regions; ids once.
  for (const field of document.querySelectorAll("input:not([type=hidden], [hidden]), select, textarea, progress")) {
    const label = [...(field.labels ?? [])].map((one) => one.textContent).join(" ").trim();
    if (!label && !field.getAttribute("aria-label") && !byIds(field.getAttribute("aria-labelledby"))) say(`a field without a name: ${named(field)}`);
    for (const id of (field.getAttribute("aria-describedby") || "").split(/\s+/).filter(Boolean))
      if (!document.getElementById(id)) say(`a description that is not there: ${id}`);
  }
  for (const item of document.querySelectorAll("a[href], button, summary"))
    if (!item.textContent.trim() && !item.getAttribute("aria-label")) say(`nothing to read on ${named(item)}`);
  for (const picture of document.querySelectorAll("svg"))
    if (picture.getAttribute("aria-hidden") !== "true" && !picture.querySelector("title")?.textContent) say(`a picture without a title`);
  for (const region of document.querySelectorAll("[role=region], [role=group], section, aside")) {
    const role = region.getAttribute("role");
    const name = region.getAttribute("aria-label") || byIds(region.getAttribute("aria-labelledby"));
    if (role && !name) say(`a ${role} without a name: ${named(region)}`);
  }
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  for (const id of new Set(ids)) if (ids.filter((one) => one === id).length > 1) say(`the id ${id} is there twice`);
  for (const cell of document.querySelectorAll("th")) if (!cell.getAttribute("scope")) say(`a th without scope: ${named(cell)}`);
  for (const box of document.querySelectorAll(".scroll, .table, pre"))
    if (box.scrollWidth > box.clientWidth + 1 && box.tabIndex < 0) say(`what scrolls cannot be reached by keyboard: ${named(box)}`);
  for (const element of document.querySelectorAll("[style]")) say(`an inline style: ${named(element)}`);

  // Reports lend the console their style, and no more than is meant: buttons look like buttons, steps count by one.
  for (const button of document.querySelectorAll(".button")) {
    const style = getComputedStyle(button);
    if (visible(button) && (parseFloat(style.paddingLeft) < 8 || style.textDecorationLine !== "none")) say(`a button that looks like a link: ${named(button)}`);
  }
  for (const step of document.querySelectorAll(".steps > li"))
    if (getComputedStyle(step, "::before").counterIncrement !== "none") say(`a step that counts twice: ${named(step)}`);

  // Contrast of every text with what lies under it.
  const colour = (text) => {
    const parts = text.match(/[\d.]+/g).map(Number);
    return { rgb: parts.slice(0, 3), alpha: parts.length > 3 ? parts[3] : 1 };
  };
  const mixed = (over, under) => over.rgb.map((value, i) => value * over.alpha + under[i] * (1 - over.alpha));
  const under = (element) => {
    const layers = [];
    for (let one = element; one; one = one.parentElement) {
      const paint = colour(getComputedStyle(one).backgroundColor);
      layers.push(paint);
      if (paint.alpha === 1) break;
    }
    return layers.reduceRight((below, layer) => mixed(layer, below), [255, 255, 255]);
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map((value) => value / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [high, low] = [light(a), light(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !visible(element) || ["SCRIPT", "STYLE", "NOSCRIPT", "TITLE", "DESC", "OPTION"].includes(element.tagName.toUpperCase())) continue;
    const style = getComputedStyle(element);
    const inSvg = element instanceof SVGElement;
    if (inSvg && element.classList.contains("in")) continue; // on coloured cells: the report's own tests see to those
    const ink = colour(inSvg ? style.fill : style.color);
    const ground = under(element);
    const ratio = contrast(mixed(ink, ground), ground);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) say(`contrast ${ratio.toFixed(2)}: “${node.data.trim().slice(0, 40)}” in ${named(element).slice(0, 70)}`);
  }
  for (const field of document.querySelectorAll("input[type=text], input[type=password], input[type=search], input[type=number], select, textarea")) {
    if (!visible(field)) continue;
    const edge = colour(getComputedStyle(field).borderTopColor);
    const ground = under(field.parentElement);
    if (contrast(mixed(edge, ground), ground) < 3) say(`the border of a field is too faint: ${named(field)}`);
  }

  // Nothing sticks out at the side, and what is pressed is large enough for a finger.
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) say(`the page is wider than the window: ${root.scrollWidth} > ${root.clientWidth}`);
  for (const button of document.querySelectorAll("button, .button, nav a"))
    if (visible(button) && button.getBoundingClientRect().height < 24) say(`too small to press: ${named(button)}`);
  return faults;
}
