/** Groups of words about money, trade and work. */
export const money = `
money cash funds finance financial sum capital
cash banknote banknotes coin coins notes money
pay paid payment pays paying settle remit
pay wage wages salary salaries earnings income payroll remuneration paycheck
price cost costs charge charges fee rate tariff expense expensive
cost costs expense expenses expenditure outlay spend spent spending bill
charge fee levy toll surcharge price billed
bill invoice statement billing account
receipt slip proof voucher bill
refund refunded reimburse reimbursed reimbursement repay repaid money return
expense expenses claim outlay costs reimbursement
claim request apply demand
free complimentary gratis gratuitous nothing
cheap cheaper discount discounted inexpensive affordable reduced reduction bargain
discount reduction rebate cheaper offer sale
expensive dear costly pricey high price
budget allowance funds allocation spending
allowance allocation daily rate limit diem
subsidy grant aid subsidise funding contribution support
fund funding finance pay sponsor pot
contribution contribute share pay
deposit caution security bond payment
instalment installment monthly spread partial parts
advance prepaid prepayment upfront beforehand
debt owe owed owing arrears overdue outstanding unpaid
arrears overdue late debt behind unpaid
reminder remind notice dunning warning
interest rate percent yield return
loan borrow lend credit mortgage
credit loan card account
bank account banking transfer
transfer payment debit bank wire remittance
debit direct collect collected transfer
card credit debit plastic payment
savings save saving deposit
invest investment shares stock capital
share shares stock stake capital equity
profit gain surplus earnings dividend
dividend profit payout interest
loss lose losing deficit
tax taxes taxation duty vat fiscal
pension retirement retire retired superannuation old-age
insurance insured insure cover coverage policy premium
liability liable responsible damages
compensation compensate damages indemnity payout
compensate compensation make reimburse
damage damaged damages harm broken destroyed break spoil smashed scratched
poor poverty hardship broke afford need difficulty
hardship difficulty afford poor trouble crisis
help assistance aid support hand
adjust adjustment change increase raise alter
increase rise raise higher grow growth climb go
decrease reduce reduction lower cut drop less fall
average mean typical
total sum overall together altogether
half fifty 50 percent
percent percentage share proportion
buy bought purchase purchasing acquire order shop
sell sold sale selling vendor
order ordered purchase buy request
shop store market retail supermarket
delivery deliver delivered shipping ship shipment parcel post courier
parcel package packet delivery post mail
supplier vendor provider contractor seller
warranty guarantee defect faulty
return returned give hand bring
exchange swap trade switch replace
swap exchange trade switch change
replace replacement substitute swap new exchange
borrow lend loan rent hire use
hire rent rental lease charter
job work employment position post occupation career role
work job working labour labor duty task
company firm business employer corporation enterprise organisation corporate
office workplace desk workspace headquarters site building
desk workstation workplace seat table
remote home telecommute telework homeworking distance
shift schedule rota roster hours
overtime extra hours additional
hours time schedule working
break pause rest interval lunch
leave holiday holidays vacation absence absent
holiday holidays vacation leave break festive christmas
sabbatical break long unpaid leave career
absence absent away leave missing
resign resignation quit leave notice terminate
dismiss dismissal fire fired sack sacked redundancy layoff terminate
redundant redundancy unemployed laid layoff dismissed jobless
notice terminate termination cancel quit resign end
probation trial period test
recruit recruitment hire hiring applicant candidate vacancy
apply application applicant request candidate
interview applicant candidate meeting
reference recommendation testimonial
promotion promote career advance
bonus reward premium incentive extra
benefit benefits perk perks advantage
performance appraisal review evaluation
goal target objective aim
deadline due date limit time cutoff latest
task duty job chore work assignment
duty obligation task responsibility must
responsible responsibility charge liable accountable
project plan programme initiative
experience skill expertise knowledge
team group crew department squad
department division section unit team
uniform clothes clothing dress outfit
dress clothes clothing wear outfit attire
business trade commerce commercial company
commercial business trade professional
`
