/** Groups of words about people, health, learning, law and leisure. */
export const people = `
person people human individual somebody someone resident inhabitant citizen
man male gentleman guy men
woman female lady women
child children kid kids infant toddler youngster minor son daughter boy girl young
baby babies newborn infant pregnant pregnancy birth born expecting maternity unborn
parent parents mother father mum mom dad maternity paternity parental adoption
family families relative relation household kin parents siblings
grandparent grandmother grandfather grandma grandpa grandchild grandson granddaughter relative
brother sister sibling relative
husband wife spouse partner couple married civil
wedding marry married marriage bride groom engaged honeymoon
divorce divorced separate separated separation split
friend pal mate acquaintance guest visitor companion
guest visitor visit host caller invitee
neighbour neighbor adjacent neighbourhood neighborhood nearby
elderly old senior aged pensioner older retired
adult grown age
age old years birthday
name surname identity called
funeral death died die dead deceased bereavement grief mourning passed burial inheritance heir
boss manager supervisor superior head lead leader chief
director executive management chief ceo board
board committee council trustees directors elected
chair chairman chairwoman chairperson president head
colleague coworker teammate team workmate crew staff
staff employee employees worker workers personnel workforce crew colleague team
member members membership belong associate subscriber
newcomer beginner starter new joiner novice trainee
apprentice intern trainee student internship placement
volunteer volunteering unpaid charity helper
customer client buyer shopper purchaser consumer patron account
user account subscriber login
owner owns proprietor holder possess belongs landlord
guard security watchman porter caretaker concierge janitor doorman
caretaker janitor concierge superintendent handyman maintenance
technician mechanic engineer repairer fitter plumber electrician handyman
plumber pipe plumbing leak tap drain
electrician wiring electricity socket fuse
doctor physician gp practitioner medic clinic surgeon medical
nurse hospital clinic ward carer
dentist dental tooth teeth filling orthodontist
hospital clinic ward surgery inpatient emergency
ill illness sick sickness unwell disease poorly flu cold fever ailing
injury injured hurt wound wounded accident harm casualty
medicine drug medication prescription pill tablet pharmacy chemist
pharmacy chemist medicine prescription drugstore
glasses spectacles eye eyes eyesight vision optician lens
ear hearing deaf
disability disabled handicap wheelchair impaired impairment accessible
wheelchair disabled accessible ramp lift pushchair pram
mental stress burnout depression anxiety psychologist counselling therapy psychological
counselling counsellor advice therapy therapist adviser
care nursing carer look support assistance
pram pushchair stroller buggy
nursery kindergarten daycare creche childcare preschool
childcare nursery babysitter nanny creche kindergarten daycare
school pupil class teacher classroom lesson
university college degree student study studies academic
course class training lesson seminar workshop education learning
training train course education learning instruction coaching workshop seminar
learn learning study education teach taught lesson
exam test examination assessment quiz
certificate diploma qualification degree certification proof
book books read reading novel title library literature
library borrow book lend lending
language languages speak translation translate interpreter tongue
law legal statute legislation regulation act lawful
lawyer solicitor attorney legal counsel advocate
court judge lawsuit trial tribunal sue legal
police officer constable theft crime
crime criminal theft offence burglary robbery fraud
thief theft steal stole stolen burglar burglary robbed robbery break-in
fine penalty ticket punished speeding sanction
fraud scam cheat deceive phishing swindle
contract agreement deal lease terms treaty
sign signature signed signing autograph
document documents paper papers form file record certificate paperwork
form application questionnaire paper fill
passport visa identity identification document
licence license permit authorisation permission
identity identification badge card pass passport
complaint complain grievance objection dissatisfied protest dispute
objection object dispute challenge contest appeal complaint disagree
quarrel dispute conflict argue argument disagreement mediation fight
mediation mediator arbitrator conflict settle arbitration
vote voting ballot election elect poll elected
election elect candidate vote nominate stand
majority votes half most quorum
meeting assembly gathering conference session appointment agm
assembly meeting gathering congress general
minutes record protocol notes
agenda topic item motion proposal
proposal propose motion suggest suggestion idea put
suggestion suggest idea proposal recommend feedback
privacy private personal confidential data gdpr
confidential secret private sensitive classified
secret hidden confidential private
gift present donation donate give
charity donation volunteer nonprofit good cause
party celebration celebrate birthday event festivity
event occasion gathering function festival
music instrument piano guitar play drums
film movie cinema video
photo photograph picture image camera
camera surveillance cctv video recording filmed film
game play toy playing
sport exercise fitness gym training athletic
gym fitness workout exercise sport
swim swimming pool
garden gardening plant plot allotment yard lawn greenery
playground play swing sandpit slide
animal animals pet pets creature beast
pet pets dog cat animal puppy kitten hamster rabbit
dog dogs puppy hound leash lead
cat cats kitten
bird birds parrot feeding pigeon
insect pest vermin cockroach bug ants wasp bee
pest vermin rat mouse mice rodent cockroach bedbug infestation
`
