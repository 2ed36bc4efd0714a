// Live progress of a job: asks for its state every second and says what changed. Without this script the page
// reloads itself.
(() => {
  "use strict";
  const box = document.querySelector("[data-progress]");
  if (!box) return;
  const bar = box.querySelector("progress");
  const stage = box.querySelector("[data-stage]");
  let wait = 700;

  const show = (job) => {
    bar.value = job.progress;
    const said = job.words;
    if (stage.textContent !== said) stage.textContent = said; // only a change is read out
    if (job.ended) window.location.assign(box.dataset.then);
  };
  const ask = async () => {
    try {
      const answer = await fetch(box.dataset.progress, { headers: { Accept: "application/json" } });
      if (answer.status === 401 || answer.status === 404) { window.location.reload(); return; }
      if (answer.ok) {
        const job = await answer.json();
        show(job);
        if (job.ended) return;
      }
      wait = Math.min(wait * 1.15, 3000);
    } catch {
      wait = 5000; // the server is away: keep asking, slowly
    }
    window.setTimeout(ask, wait);
  };
  window.setTimeout(ask, 300);
})();
