"""First names that are usual in several languages: enough to recognise a column of names, not to list everybody."""

from __future__ import annotations

_USUAL = """
    aaron adam adrian agnes ahmed aisha alan albert alejandra alejandro alex alexander alexandra alfred ali alice
    alicia alina amanda amelia amina amy ana andrea andreas andrew angela angelika anita anja ann anna anne anneliese
    annette annika anthony antoine anton antonella antonia antonio arnaud arthur asha astrid aurelie ava axel barbara
    beatrice beatriz ben benedict benjamin bernard bernd bettina betty bianca birgit bjorn bob brandon brian brigitte
    bruno camille carla carlos carmen carol caroline catherine cecilia celine charles charlotte chen chiara chloe
    chris christa christian christina christine christoph christopher claire clara claude claudia clemens cornelia
    cristina cynthia daniel daniela david deborah denise dennis diana diego dieter dirk dmitri dominik donald donna
    dorothy douglas edith edward elena elisabeth elizabeth ella elsa emil emily emma enrique eric erica erik ernst
    esther ethan eugen eva evelyn fabian fatima federico felix fernando filip florence florian fran frances francesca
    francesco francisco frank franz fred freya frida friedrich gabriel gabriele gary georg george gerald gerd gerhard
    gertrud gisela giulia giuseppe gloria grace gregory greta guido gunther gustav hanna hannah hannelore hans harald
    harold harry hassan heather heidi heike heinrich heinz helen helena helga helmut henri henrik henry herbert
    hermann hugo ian ibrahim ida igor ilse ines inga ingrid irene isaac isabel isabella ivan jack jacob jacqueline
    jacques jakob james jan jana jane janet jasmin jason javier jean jeff jeffrey jennifer jens jeremy jessica jesus
    jim joan joanna joe joel johan johann johanna johannes john jonas jonathan jorge jose josef joseph joshua juan
    juana judith julia julian julie juliette jurgen justin kai karen karin karl karolina kate katharina katherine
    kathleen kathrin katja keith kenneth kevin khalid kim klaus kristin kurt kyle lara larry laura lauren laurent lea
    lena leo leon leonard leonie liam lilly lina linda lisa lorenzo louis louise luca lucas lucia lucy luis luisa
    lukas lydia madison magdalena manfred manuel manuela marc marcel marco marcus margaret margit maria mariam
    marianne marie marina mario marion mark markus marlene marta martha martin martina mary mateo mathilde matteo
    matthew matthias max maximilian maya megan mehmet mei melanie melissa mia michael michaela michel michelle miguel
    mike mila mohamed mohammed monica monika moritz muhammad nadia nadine nancy natalia natalie natasha nathan
    nicholas nick nicolas nicole nils nina noah nora norbert oleg oliver olivia omar oscar oskar pablo pamela paola
    pascal patricia patrick paul paula paulina pedro peggy peter petra philip philipp philippe pierre pietro priya
    rachel rainer ralf ralph raul raymond rebecca regina reinhard renate rene ricardo richard rita robert roberto
    robin roger roland rolf roman ronald rosa rosemary ruth ryan sabine sabrina sally samantha samuel sandra sara
    sarah scott sean sebastian sergei sergio sharon silke silvia simon simone sofia sonja sophia sophie stefan
    stefanie stephan stephanie stephen steven susan susanne sven svetlana sylvia tanja tara teresa theo theresa thomas
    tim timothy tina tobias tom tomas ulrich ulrike ursula uwe valentina vanessa vera veronica victor victoria viktor
    vincent virginia walter wei werner wilhelm william wolfgang xavier yasmin yuki yusuf yvonne zoe
"""
FIRST_NAMES = frozenset(_USUAL.split())
