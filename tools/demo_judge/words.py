"""Word lists the generated facts are made of, and the common words the vocabulary should know."""

NOUNS = (
    "lamp stone wheel bridge garden window basket candle mirror ladder engine pencil bottle blanket hammer kettle "
    "ribbon saddle pillow whistle carpet drum anchor barrel button feather helmet jacket lantern magnet needle orange "
    "paddle rabbit shovel ticket umbrella violin wagon zebra apple arrow beetle bell boat bone book boot bowl box "
    "branch bread brush bucket camel card cart castle cat chain chair cheese clock cloud coat coin comb cow crane "
    "crown cup desk dog door dragon duck egg fan farmer fence fish flag flower flute fork fox frog gate ghost giant "
    "glove goat goose guitar harp hat heart horse house island key kite knife knight lake leaf lemon letter lion maple "
    "map moon mouse nail nest net nut oak owl paint paper pear pepper piano pig pilot plate plum pond pot queen rain "
    "ring river robot rock rope rose sail salt sand seed ship shoe snail snake soap spoon star stove swan sword table "
    "tent tiger tower train tree truck tunnel turtle valley vase wall whale wolf wood"
).split()
ADJECTIVES = (
    "green red blue black white yellow small large old new young quiet loud bright dark heavy light warm cold soft "
    "hard round flat tall short long wide narrow clean dusty wet dry sweet bitter broken wooden golden silver iron "
    "plastic empty full slow fast strong weak brave gentle lazy busy happy sad strange simple hidden famous modern "
    "ancient silent tiny huge rough smooth sharp fresh rusty hollow"
).split()
PROFESSIONS = (
    "doctor teacher painter baker farmer lawyer nurse pilot singer writer carpenter plumber chemist dentist dancer "
    "tailor sailor miner judge cook gardener librarian engineer architect biologist photographer journalist translator "
    "mechanic electrician pharmacist accountant sculptor historian geologist surgeon"
).split()
COLOURS = "red blue green black white yellow orange purple brown grey pink gold silver".split()
INSTRUMENTS = "piano violin guitar flute drum harp trumpet cello organ clarinet banjo accordion".split()
LANGUAGES = "English French German Spanish Arabic Chinese Italian Russian Hindi Greek Turkish Polish".split()
MONTHS = "January February March April May June July August September October November December".split()
FOODS = "bread cheese rice soup honey pasta apples pears fish salad beans chocolate cake onions olives grapes".split()

ONSETS = "b d f g h k l m n p r s t v z br dr gr kr pl st tr th sh".split()
NUCLEI = "a e i o u ai ea ou".split()
CODAS = "n r l s m t k nd rt".split()

COMMON = (
    "the of and to in is was for on that by this with it you not or be are from at as your all have new more an we "
    "will can has but which they about what where when who how why there their one two three four five six seven "
    "eight nine ten first second last also into only other some such no most than then now these those after before "
    "between under over through during without within against because while although however since until so if both "
    "each few many much very often never always usually sometimes people person time year day week month hour minute "
    "world country city town village state government company school university student professor science scientist "
    "theory research study history war peace music art film movie song poem novel story newspaper television computer "
    "internet software data system program language word name number part place point case fact group problem "
    "question answer response context statement reason verdict evidence information report result change work life "
    "child man woman family friend mother father brother sister son daughter king president minister leader member "
    "team player game match season record award prize medal champion winner winning won lost born died lived lives "
    "live moved married became become made make makes making known know knows called call found founded built build "
    "opened open closed close wrote written write read reading said say says told tell asked ask gave give given took "
    "take taken went go goes going came come coming saw see seen used use using began begin started start ended end "
    "kept keep held hold left leave brought bring bought buy sold sell paid pay sent send spent spend stood stand "
    "thought think understood understand worked working played plays studied studies published produced discovered "
    "invented developed developing designed created painted directed composed led joined served received includes "
    "including contains containing located based considered recognised important different large small great good "
    "best better high low early late long short young local national international public private political economic "
    "social physical chemical natural human medical legal popular common possible available special general main "
    "major recent several another any every north south east west northern southern eastern western central river "
    "mountain ocean sea lake island forest desert valley coast border area region capital population language "
    "currency temperature weather climate energy water air fire earth sun moon planet star light heat power force "
    "speed distance height length weight size age price cost money market bank trade industry product service food "
    "health disease medicine hospital body blood brain heart cell gene protein plant animal bird fish insect tree "
    "flower fruit seed metal gold silver iron copper oil gas coal machine engine car train plane ship road street "
    "building house home room door window wall floor law court police army soldier church temple religion god king "
    "queen prince century decade million billion thousand hundred percent metres kilometres degrees kilograms "
    "according million however therefore actually really perhaps maybe probably certainly exactly approximately "
    "around nothing something anything everything someone anyone everyone does did do done being been had would could "
    "should may might must shall its his her our my me him them us she he I who whose whom same own too just even "
    "still again back down up out off away here sure know unsure unknown depends mention mentioned supported present "
    "useful relevant"
).split()

SPANISH = (
    "el la los las un una unos unas de del al y o en con por para sin sobre entre desde hasta que quien donde cuando "
    "como cuanto es son era fue fueron ser estar está están tiene tienen hay nació murió vive vivía trabaja escribió "
    "pintó construyó fundó ganó abrió ciudad país río montaña libro novela película año años siglo día mes persona "
    "hombre mujer niño niña médico profesora escritor pintora ingeniero cocinero puente torre casa museo escuela "
    "universidad empresa equipo pregunta respuesta contexto afirmación razón veredicto información verdad falso según "
    "también además pero porque aunque más menos muy mucho poco grande pequeño nuevo viejo primero segundo último rojo "
    "azul verde negro blanco capital población altura habitantes metros kilómetros mañana señor español inglés"
).split()

SPANISH_NOUNS = (
    "lámpara piedra rueda puerta ventana torre mesa silla casa llave luna playa montaña isla ciudad nube flor hoja "
    "carta canción manzana campana espada corona"
).split()
SPANISH_TRAITS = "grande azul verde nueva vieja roja blanca negra larga corta alta dulce fuerte lenta triste".split()
SPANISH_MONTHS = ("enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre").split()
