/** Groups of words about computing, processes, qualities and places. */
export const computing = `
server host computer
database data storage
cloud hosting remote
developer programmer engineer
programmer coder developer
code program source
bug defect error
debug troubleshoot
deploy release rollout
release version launch
launch start release
crash failure
outage downtime unavailable
speed performance
memory ram
disk drive storage
usb stick drive
headset headphones
microphone mic
webcam camera
video film clip
meeting call conference
chat message talk
calendar diary schedule
spreadsheet excel table
presentation slides
template pattern form
folder directory
archive store
filter sort
sort order
export download
upload submit
print printout
scan copy
click press
menu list
window screen
browser web
cookie tracking
spam junk
block ban
unlock open
reset restore
restore recover
renew extend
extend extension prolong
shorten reduce
subscribe subscription
unsubscribe cancel
feedback review
review rating
survey poll questionnaire
ranking order
score points mark
grade mark rating
level degree
stage phase step
procedure process steps
method way
way manner
purpose aim
result outcome
effect impact
consequence result
disadvantage drawback
opportunity chance
chance probability
probability likelihood
necessary needed
useful helpful
useless worthless
possible feasible
impossible unable
able capable
unable incapable
busy occupied engaged
occupied taken
strong powerful
weak feeble
rich wealthy
famous known
beautiful pretty
ugly unattractive
comfortable cosy
uncomfortable unpleasant
pleasant nice
round circular
square rectangular
flat level
straight direct
narrow thin
thick dense
deep depth
near close nearby
far distant
inside indoors interior
outside outdoors exterior
below under
front ahead
rear behind
top upper
bottom lower
edge border
corner angle
centre center middle
north south
`
