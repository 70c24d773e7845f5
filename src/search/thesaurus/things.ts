/** Groups of words about products, production, science, farming and the arts. */
export const things = `
product goods item merchandise article ware
goods cargo freight load merchandise
stock inventory supply supplies storage
catalogue catalog brochure listing
brand make label trademark
model version variant type kind
type kind sort category class
category group class section
sample specimen example
example instance sample case
factory plant mill works manufacturing production
manufacture produce production make assembly
assembly assemble build put
machine machinery equipment appliance engine
appliance device machine household oven fridge washer
engine motor machine drive
tool tools instrument implement hammer screwdriver drill
instrument tool gauge device
screw nail bolt fasten
fasten attach fix secure tie
attach connect join link fasten
connect connection link plug join
disconnect unplug detach separate
cable wire lead cord
plug socket outlet connector
button switch knob control
switch turn toggle button
adapter converter charger
spare replacement part component
component part piece element module
material substance fabric stuff
fabric cloth textile material
cloth rag towel fabric
wood timber wooden plank board
metal steel iron aluminium
stone rock brick concrete
brick concrete cement stone
glass pane bottle mirror
plastic synthetic polymer
leather hide skin
paper sheet page
page sheet leaf side
box carton crate container package
bag sack pouch backpack
container vessel jar tank
tank reservoir cistern container
bottle flask jar
rope string cord cable
ladder steps climb
climb ascend rise
crane hoist lift
pump inflate air
inflate pump tyre
filter strain sieve
oil grease lubricant fat
paint varnish lacquer coat
glue adhesive stick tape
stick adhere glue attach
sharp pointed knife blade
knife blade cutter
cut slice trim chop
tear rip torn
crack split fracture
scratch scrape mark
dent damage bump
rust corrosion corroded
wear worn abrasion
bend bent curve
explode explosion burst blast
burst explode rupture
chemical chemistry acid substance
laboratory lab research
research study investigate science
science scientific research
scientist researcher scholar
experiment test trial
theory hypothesis idea
statistics figures data numbers
figure number digit
diagram chart graph figure
chart graph diagram plot
table list grid
medicine medical healthcare
virus infection germ flu
infection infected contagious disease
vaccine vaccination jab immunisation
allergy allergic intolerance
diet nutrition food
vegetarian vegan meatless
meat beef pork chicken
fish seafood salmon tuna
bread loaf bakery
milk dairy cheese yogurt
sugar sweet candy
salt seasoning spice
farm agriculture field crop
farmer grower agriculture
field meadow pasture
cow cattle livestock
horse pony stable
sheep lamb wool
pig pork swine
hen chicken poultry
vet veterinarian animal
seed sow sowing plant
soil earth ground dirt
fertiliser manure compost
weed weeds overgrown unwanted
spray pesticide herbicide
forest woods woodland
river stream creek
sea ocean coast
lake pond reservoir
beach coast shore
mountain hill peak
island isle
boat ship vessel ferry
harbour port dock
bridge crossing overpass
tunnel underpass
fountain spring well
theatre theater stage drama
concert performance show gig
actor performer
singer sing song choir
artist painter sculptor
art painting sculpture
painting picture canvas
picture image photo drawing
draw drawing sketch
museum exhibition gallery
exhibition show display fair
fair trade show market
dance dancing ball
newspaper press journal magazine
magazine journal periodical
journalist reporter press
radio broadcast station
television tv broadcast
broadcast transmit air
author writer
chapter section part
story tale narrative
poem verse poetry
dictionary glossary lexicon
football soccer
tennis racket court
ball football
race run marathon
run running jog jogging
walk walking stroll hike
hike walk trek
ski skiing snow
tournament championship contest
competition contest tournament
winner champion victor
prize award reward
award prize honour
medal trophy award
toy doll plaything
puzzle riddle
lottery lot draw raffle
ticket admission entry
souvenir memento
jewellery jewelry ring necklace
clock watch time
shoe boot footwear
coat jacket
shirt blouse top
trousers pants jeans
hat cap helmet
helmet hat protection
glove mitten
umbrella rain
sew sewing stitch
hair haircut barber
soap shampoo wash
perfume fragrance
makeup cosmetics
`
