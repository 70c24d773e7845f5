/** Groups of words about organisations, conduct, communication and households. */
export const actions = `
government state authority administration
authority authorities council government
council municipality town
minister secretary
mayor council
embassy consulate
border customs frontier
customs duty import
import export
immigrant migrant foreigner
refugee asylum
army military soldier
weapon gun knife firearm
peace truce
war conflict
union labor labour
strike walkout
club society association group
foundation charity trust
church religion worship
prayer pray worship
holiday festival
christmas xmas december
easter april
ethics moral conduct
behaviour behavior conduct manners
polite courteous respectful
rude impolite insulting
insult offend rude
harass harassment bully bullying
bully bullying mobbing harassment
discriminate discrimination bias
bias prejudice discrimination
equal equality same
diversity inclusion
bribe bribery corruption gift
whistleblower whistleblowing report
discipline disciplinary punishment
punish punishment penalty
penalty punishment fine sanction
warning warn caution
warn warning alert
alert alarm warning
investigate investigation inquiry
witness testimony
suspect suspicious
suspicious unusual strange
strange odd weird unusual
normal usual ordinary
usual normal standard
standard norm
special particular exceptional
rare scarce
general common
exact precise accurate
approximate rough
clear plain obvious
unclear vague ambiguous
true correct right
false untrue
honest truthful
doubt uncertain unsure
sure certain
know aware
understand grasp comprehend
remember recall memory
forget forgot forgotten
think believe
opinion view
idea thought concept
imagine fancy
dream sleep
hope expect
expect anticipate
surprise unexpected
unexpected unforeseen sudden
sudden abrupt
attention notice
ignore disregard
listen hear
touch handle
handle treat deal
treat treatment
feel feeling
taste flavour
laugh smile
cry weep
shout scream yell
whisper quiet
welcome greet reception
reception lobby desk welcome
introduce introduction
thank gratitude
apologise sorry
invite invitation
attend attendance visit
participate take part join
involve include
contain include hold
consist comprise
belong own
gather assemble meet collect
collect gather pickup
pickup collect fetch
fetch bring collect
distribute hand
hand pass give
throw toss
push press
pull drag
lift raise
rotate turn spin
shake tremble
mix blend
pour spill
fill load
unload empty
pack wrap
unpack open
fold bend
roll wheel
slip slide fall
trip stumble fall
crash collapse
collapse fall
float drift
sink drown
dig hole
bury grave
hang suspend
hook hang
shelf shelves rack
rack shelf stand
cupboard cabinet wardrobe
cabinet cupboard locker
drawer cupboard
curtain blind shade
blind shutter
candle flame
match lighter
ash ember
chimney flue
boiler furnace
insulation insulate
basin sink washbasin
bath tub
towel linen
pillow cushion
blanket duvet
sheet linen
dish plate bowl
cup mug
pan pot
spoon fork cutlery
dishwasher dishes
vacuum hoover
bucket pail
broom brush
sponge rag
stain spot
dust dirt
mud dirt
`
