/** Groups of words about buildings, households, food, energy and nature. */
export const home = `
home house residence dwelling flat apartment accommodation
flat apartment dwelling home unit residence accommodation
rent rental tenancy lease tenant let
tenant renter occupant lodger resident lessee
sublet subletting lodger subtenant underlet airbnb rent
landlord owner lessor
building block house property premises
room rooms bedroom chamber space
bedroom room sleep bed
bathroom bath shower toilet washroom
toilet lavatory wc bathroom loo restroom flush
kitchen cook cooking stove oven
stove oven cooker hob cook
fridge refrigerator freezer cool
cellar basement storage storeroom underground
storage store stored storeroom cellar keep warehouse locker depot
attic loft roof
roof rooftop attic top
floor storey level ground
floor flooring parquet carpet tiles laminate
wall walls partition plaster
wall drill drilling hole hang
paint painting decorate colour color redecorate wallpaper
window windows glass pane
door doors entrance gate
entrance door gate entry lobby hall
gate entrance barrier door
balcony terrace patio veranda
stairs staircase stairwell steps landing
stairwell staircase hallway corridor landing stairs
corridor hallway passage aisle
lift elevator lifts elevators
key keys lock locked unlock
lock locked locksmith key shut
keys locked lockout locksmith lost
courtyard yard patio outdoor
fence hedge barrier
furniture sofa couch chair table bed wardrobe
mattress bed furniture bulky sofa
bulky large furniture sofa mattress
rubbish waste trash garbage refuse litter bin
bin dustbin container rubbish waste trash
recycle recycling glass bottles paper cardboard plastic waste
compost organic food scraps waste vegetable peelings
hazardous dangerous toxic chemical batteries
battery batteries cell charge
clean cleaning wash tidy mop sweep scrub
cleaning cleaner clean tidy hygiene
dirt dirty mess filth stain untidy
laundry washing wash washer clothes linen
washing laundry machine washer detergent
dryer drying dry tumble
dry drying dryer hang
iron ironing clothes
repair repairs fix fixed mend maintenance broken
maintenance upkeep servicing repair service
fault defect broken malfunction failure problem faulty
broken break broke defect damaged failure work
renovate renovation refurbish modernise alteration rebuild conversion
alteration alter modify change conversion rebuild
build construction building construct builder erect
install installation fit mount put fitted
remove removal take away dismantle
inspect inspection check examine survey
meter meters reading measure counter
heating heat heater radiator radiators warm warmth boiler warmer
radiator heating heater valve
warm warmth heat hot temperature
hot heat warm boiling
cold chilly cool freezing frost temperature
temperature degrees warm cold heat
cool cooling fan ventilation conditioning
ventilation ventilate air airing window fresh
air ventilation fresh breathe
mould mold damp moisture humidity wet condensation fungus
damp wet moisture humid mould
water tap drinking faucet
tap faucet water drip
leak leaking drip dripping flood pipe burst
flood flooded flooding water leak
pipe pipes drain plumbing blocked
drain drains blocked clogged sink
electricity power electric electrical current energy
power electricity energy outage blackout supply
outage blackout failure cut interruption
energy power electricity consumption
solar sun panels photovoltaic
light lights lighting lamp bulb
gas gasoline fuel
smoke smoking cigarette cigarettes smoker tobacco
smoke fire alarm detector
fire burning blaze flame flames burn smoke
alarm siren detector warning bell
extinguisher fire hose
barbecue barbecuing grill grilling charcoal
noise noisy loud sound quiet racket disturb
quiet silence silent noise peace calm
loud noise noisy volume
disturb disturbance bother nuisance annoy noise
night overnight evening midnight late
smell odour stink smelly
plant plants flower flowers tree shrub
tree trees branch wood
grass lawn mow mowing
water watering irrigate hose
harvest fruit vegetables crop
weather rain snow storm wind
rain rainwater wet barrel
snow ice icy winter slippery grit
ice icy frost slippery snow
winter snow cold
summer hot warm season
environment environmental ecological green sustainable climate
food meal meals eat eating catering
meal lunch dinner breakfast food eat restaurant
lunch midday meal canteen
canteen cafeteria restaurant lunch
breakfast morning meal
dinner supper evening meal
drink drinks beverage beverages water coffee tea
coffee espresso cappuccino cafe drink
tea drink hot
alcohol wine beer alcoholic spirits drink
fruit apple vegetables snack
cook cooking kitchen prepare
water drink bottle
move moving relocate relocation moved removal
furniture removal movers van moving
handover hand keys return
vacate leave move empty
empty vacant vacated free unoccupied
`
