/** Groups of general words: time, quantities, permission, change and judgement. */
export const general = `
allow allowed permit permitted permission
permission approval consent authorisation permit approve
approve approval consent sign authorise agree
forbid forbidden prohibit prohibited ban banned prohibition
obligatory mandatory compulsory required obliged
require required need necessary
rule rules regulation policy guideline
right rights entitled entitlement eligible
eligible entitled qualify eligibility
limit maximum cap ceiling
maximum most limit highest
minimum least lowest
exceed above more
enough sufficient adequate
reject refuse refused decline turn rejection deny
accept accepted approve take
exclude exclusion expel expelled throw thrown
expel evict eviction exclude thrown
violate violation break breach infringe
exception exempt except
choose choice select option pick
decide decision decides determine
change alter modify adjust
start begin beginning commence
begin start commence opening
end finish ending conclude expire
finish end complete
expire expiry lapse expired valid
lapse expire forfeit
valid validity expire
last final latest
continue carry keep going
stop end halt cease
postpone delay defer later
early earlier advance beforehand
late later delay
soon quickly shortly
quick quickly fast rapid immediate
fast quick rapid speed
slow slowly
immediately once instantly straightaway
day days daily date
daily day everyday
week weekly
weekend saturday sunday
month monthly
year annual annually yearly
quarter quarterly
hour hours
minute minutes
morning early dawn
afternoon midday noon
period time duration term
duration long length last
regular regularly often periodic
often frequently frequency
sometimes occasionally
always permanent constantly
temporary temporarily provisional interim
permanent fixed indefinite
date day appointment
appointment meeting date
open opening hours
close closed shut closing
available availability reachable
reach reachable contact
big large size huge
size big large dimension
small little tiny minor
long length lengthy
short brief
high tall height
heavy weight load
weight heavy kilogram
wide width broad
many number several
number amount quantity
number digits
amount sum quantity
extra additional more
additional extra further
spare extra reserve
part portion piece share
whole entire complete
divide divided split share distribute
distribute allocate allocation assign divide
calculate calculation compute work
measure measurement
count number
compare comparison
best good top
good quality fine
bad poor wrong
wrong mistake error incorrect
problem trouble difficulty issue
difficult hard tricky
important significant essential
different other various
similar same alike
new fresh recent
old used previous
used secondhand old
own private personal
common shared communal joint
public open
together jointly joint
alone unaccompanied single
accompany escort accompanied
single alone individual
use using usage utilise
provide supply offer give
offer proposal provide
take bring carry
carry take transport
put place lay
hold keep have
keep retain hold
lose lost missing loss
lost missing misplaced
find found discover
search look find
look see watch
see view look
view inspect see access
show display present
hide conceal hidden
watch observe monitor
check verify inspect control
test check trial
try attempt
succeed success
fail failure failed
cause reason why
reason cause grounds explanation
explain explanation reason
prove proof evidence
plan planning schedule
schedule timetable plan
prepare preparation ready
organise organize arrange
manage run administer
administration office management
help assist
save rescue keep
destroy ruin damage
throw discard dispose
leave left depart
arrive arrival come
go leave travel
live reside dwell
meet meeting encounter
talk speak conversation
tell inform say
promise guarantee
agree agreement consent
disagree oppose against
oppose against object
like want wish
want wish desire
wish want request
love like
fear afraid
angry annoyed
happy satisfied
sad grief
tired exhausted
sleep asleep bed
drunk alcohol
hit strike
grow plant
full complete
dark light
`
