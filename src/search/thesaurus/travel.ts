/** Groups of words about travel, vehicles, computers and messages. */
export const travel = `
travel trip journey travelling tour voyage
trip journey travel excursion tour
book booking reserve reservation booked
hotel accommodation overnight lodging room stay hostel
stay overnight night accommodation remain
fly flight flights plane airplane airline air
flight plane aeroplane airline airport fly
airport flight terminal plane
train railway rail trains
bus coach transport
tram bus metro underground subway
transport transit bus train
taxi cab ride uber
car vehicle automobile auto cars driving motor
vehicle car van truck lorry motorbike
drive driving driver car motorist
park parking parked garage space
garage parking car
motorcycle motorbike scooter moped
bicycle bike bikes bicycles cycle cycling cyclist
bike bicycle cycle ebike
scooter moped electric
wheel tyre tire
charge charging charger plug recharge
charger charging plug socket electric
fuel petrol diesel gasoline
kilometre kilometer mile mileage distance
distance far kilometres away
road street route highway
tow towed towing removed
accident crash collision
ticket fare pass
first class business economy seat
seat place chair class
luggage baggage suitcase bag
abroad foreign overseas country international
international intercontinental abroad overseas
country nation land abroad
europe european eu
delay delayed late postponed
cancel cancelled canceled call cancellation revoke
stranded stuck missed
map route directions
city town municipal
place location site spot
computer laptop notebook pc machine device
device devices computer phone laptop tablet equipment
equipment hardware gear tools device
screen monitor display
keyboard mouse
printer print printing copy
phone telephone mobile cell smartphone
telephone phone call number ring
call phone ring telephone contact
software program application app
licence license software subscription
update updates patch upgrade
install setup download
download install load
password passphrase passcode login credentials pin
login sign logon signin credentials password access
authentication factor verification code login
code pin number password
encrypt encryption encrypted
backup restore copy
virus malware ransomware infected
hack hacked hacker attack breach intrusion incident
incident breach attack event emergency
phishing scam email suspicious link
link url click
internet web online network wifi
wifi wireless internet network
network internet connection
website site web page online
online internet web digital electronic
email mail mailbox message inbox address
mail post letter email
letter post mail written
write writing written letter
message notification text notice
inform notify tell report let know
report notify tell announce
announce announcement notice inform
notice announcement poster board
news newsletter information
information details data info
data information records
record records log history
file files document
store save keep stored
delete erase remove wipe destroy
copy duplicate reproduce
share sharing joint together shared
send sent submit
receive get obtain received
answer reply respond response
question ask query enquiry
ask request inquire question
contact reach touch call
helpdesk support service hotline
support help assistance helpdesk
hotline emergency phone helpline
emergency urgent urgently danger alarm
urgent emergency immediate quickly
danger dangerous hazard risk unsafe
safe safety secure security
security safety protection
protect protection guard secure
escape evacuate evacuation exit
exit escape leave
rescue ambulance emergency
aid kit bandage
badge pass card visitor
access entry enter admission
enter entry access join
admit admission accept accepted entry
join joining enter enrol enroll sign become
register registration enrol sign
list waiting queue
wait waiting queue
queue line waiting
priority preference precedence
`
