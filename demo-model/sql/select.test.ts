import assert from 'node:assert/strict'
import path from 'node:path'
import test, { after, before } from 'node:test'
import { DuckDBInstance } from '@duckdb/node-api'
import { mergeQueries } from './query.ts'
import { readQuery } from './read-query.ts'
import { writeSelect } from './select.ts'
import { parseTables } from './tables.ts'

const description = `Tables:
- sales: date DATE, region VARCHAR (East, North, South, West), product VARCHAR (Descaler Set, Espresso Duo, Espresso One, Filter Kit, Grinder Pro, House Blend 1kg, Service Plan, Single Origin 1kg), channel VARCHAR (Online, Partner, Retail), units BIGINT, unit_price DOUBLE, amount DOUBLE
- products: product VARCHAR (Descaler Set, Espresso Duo, Espresso One, Filter Kit, Grinder Pro, House Blend 1kg, Service Plan, Single Origin 1kg), category VARCHAR (Accessories, Coffee, Machines, Services), list_price DOUBLE, unit_cost DOUBLE, launched DATE
- customers: customer_id VARCHAR, name VARCHAR (Brightwater Offices, Harbour & Lane, Cobalt Studios, Fernhill Clinics, Juniper Law, Kestrel Logistics, Maple Street Bakery, Oakridge College, Pebble Software, Quarry Hotels, Redstone Print, Saltmarsh Museum, Tidewater Shipping, Umber Design), region VARCHAR (East, North, South, West), city VARCHAR (Leeds, Norwich, Bristol), size VARCHAR (enterprise, medium, small), customer_since DATE, machines BIGINT`
const tables = parseTables(description)

const instance = await DuckDBInstance.create()
const connection = await instance.connect()
before(async () => {
  const data = path.join(import.meta.dirname, '../../samples/files/data')
  for (const [table, file] of Object.entries({ sales: 'sales.csv', products: 'products.csv', customers: 'customers.json' })) {
    await connection.run(`CREATE TABLE ${table} AS FROM '${path.join(data, file)}'`)
  }
})
after(() => {
  connection.closeSync()
  instance.closeSync()
})

async function rowsOf(sql: string): Promise<unknown[][]> {
  const reply = await connection.runAndReadAll(sql)
  return reply
    .getRows()
    .map((row) =>
      row.map((value) => (typeof value === 'bigint' ? Number(value) : typeof value === 'object' && value !== null ? String(value) : value)),
    )
}

function select(...questions: string[]): string {
  const [first, ...rest] = questions
  let query = readQuery(first!, { tables, latest: '2025-12-31' })
  assert.ok(query, first)
  for (const question of rest) query = mergeQueries(query, readQuery(question, { tables, latest: '2025-12-31' }, query.table)!)
  return writeSelect(query)
}

/** A question, and SQL written by hand that must give the same rows in the same order. */
const questions: [string, string][] = [
  ['What were the total sales by region?', 'select region, round(sum(amount), 2) s from sales group by 1 order by s desc'],
  ['total revenue for 2025', 'select round(sum(amount), 2) from sales where year(date) = 2025'],
  ['average amount per channel', 'select channel, round(avg(amount), 2) a from sales group by 1 order by a desc'],
  ['How many units did we sell in March 2025?', "select sum(units) from sales where strftime(date, '%Y-%m') = '2025-03'"],
  ['how many sales were there in the North region?', "select count(*) from sales where region = 'North'"],
  ['top 3 products', 'select product, round(sum(amount), 2) s from sales group by 1 order by s desc limit 3'],
  ['best-selling product by units', 'select product, sum(units) s from sales group by 1 order by s desc'],
  [
    'Which region had the lowest sales in Q4 2025?',
    'select region, round(sum(amount), 2) s from sales where quarter(date) = 4 group by 1 order by s',
  ],
  ['Which month was the best?', "select strftime(date, '%Y-%m'), round(sum(amount), 2) s from sales group by 1 order by s desc"],
  ['units by region and quarter', "select region, '2025-Q' || quarter(date) q, sum(units) from sales group by 1, 2 order by 1, 2"],
  ['sales in Q2 in the South', "select round(sum(amount), 2) from sales where quarter(date) = 2 and region = 'South'"],
  [
    'sales in the first half of 2025 by product',
    'select product, round(sum(amount), 2) s from sales where month(date) <= 6 group by 1 order by s desc',
  ],
  ['sales between 2025-02-01 and 2025-03-31', "select round(sum(amount), 2) from sales where date between '2025-02-01' and '2025-03-31'"],
  [
    'sales from March to May by month',
    "select strftime(date, '%Y-%m') m, round(sum(amount), 2) from sales where month(date) in (3, 4, 5) group by 1 order by 1",
  ],
  ['sales since October 2025', "select round(sum(amount), 2) from sales where date >= '2025-10-01'"],
  ['How many sales over 500?', 'select count(*) from sales where amount > 500'],
  ['sum of units where amount is over 1,000', 'select sum(units) from sales where amount > 1000'],
  [
    'which products had sales over 50,000?',
    'select product, round(sum(amount), 2) s from sales group by 1 having s > 50000 order by s desc',
  ],
  [
    'sales except in the North by region',
    "select region, round(sum(amount), 2) s from sales where region <> 'North' group by 1 order by s desc",
  ],
  [
    'online sales in the West in May 2025',
    "select round(sum(amount), 2) from sales where channel = 'Online' and region = 'West' and month(date) = 5",
  ],
  ['sales of House Blend in December', "select round(sum(amount), 2) from sales where product = 'House Blend 1kg' and month(date) = 12"],
  [
    'Compare North and South',
    "select region, round(sum(amount), 2) s from sales where region in ('North', 'South') group by 1 order by s desc",
  ],
  ['compare units and amount by region', 'select region, sum(units) u, round(sum(amount), 2) from sales group by 1 order by u desc'],
  ['average unit price by product', 'select product, round(avg(unit_price), 2) p from sales group by 1 order by p desc'],
  ['lowest amount', 'select min(amount) from sales'],
  ['what is the largest sale?', 'select * from sales where amount = (select max(amount) from sales)'],
  ['median amount', 'select median(amount) from sales'],
  ['sales by category', 'select category, round(sum(amount), 2) s from sales join products using (product) group by 1 order by s desc'],
  [
    'sales of Machines by region',
    "select region, round(sum(amount), 2) s from sales join products using (product) where category = 'Machines' group by 1 order by s desc",
  ],
  ['what were the sales last month?', 'select round(sum(amount), 2) from sales where month(date) = 12'],
  ['How many different products did we sell?', 'select count(distinct product) from sales'],
  ['which regions are there?', 'select distinct region from sales order by 1'],
  ['show the first 5 rows of sales', 'select * from sales limit 5'],
  ['how many products are there?', 'select count(*) from products'],
  ['what is the list price of the Espresso Duo?', "select product, list_price from products where product = 'Espresso Duo'"],
  ['cheapest product', 'select product, list_price from products order by list_price limit 1'],
  ['products with a list price above 200', 'select product, list_price from products where list_price > 200'],
  ['how many customers by region?', 'select region, count(*) c from customers group by 1 order by c desc'],
  ['list customers in the North', "select * from customers where region = 'North'"],
  [
    'Which category earns us the least in the West?',
    "select category, round(sum(amount), 2) s from sales join products using (product) where region = 'West' group by 1 order by s",
  ],
  [
    'What is the least popular product at retail, in units?',
    "select product, sum(units) s from sales where channel = 'Retail' group by 1 order by s",
  ],
  ['What did the retail channel bring in during 2025?', "select round(sum(amount), 2) from sales where channel = 'Retail'"],
  ['how many sales were worth less than 200?', 'select count(*) from sales where amount < 200'],
  ['which customer has the most machines?', 'select name, machines from customers order by machines desc limit 1'],
  ['top 5 customers by machines', 'select name, machines from customers order by machines desc limit 5'],
  [
    'What were our best three months?',
    "select strftime(date, '%Y-%m'), round(sum(amount), 2) s from sales group by 1 order by s desc limit 3",
  ],
  ['How many machines does Kestrel Logistics have?', "select sum(machines) from customers where name = 'Kestrel Logistics'"],
  ['oldest customer', 'select * from customers order by customer_since limit 1'],
  ['Where is the customer "Juniper Law"?', "select * from customers where name = 'Juniper Law'"],
]

const total = 'select round(sum(amount), 2) from sales where '
const open: [string, string][] = [
  ['sales since March', `${total} date >= '2025-03-01'`],
  ['revenue from May on', `${total} date >= '2025-05-01'`],
  ['revenue after the 3rd of May', `${total} date > '2025-05-03'`],
  ['revenue since 3 May', `${total} date >= '2025-05-03'`],
  ['revenue June onwards', `${total} date >= '2025-06-01'`],
  ['revenue not before June', `${total} date >= '2025-06-01'`],
  ['revenue since the end of July', `${total} date >= '2025-08-01'`],
  ['revenue up to and including 15 April', `${total} date <= '2025-04-15'`],
  ['revenue until the end of April', `${total} date < '2025-05-01'`],
  ['revenue from 15 March to 15 April', `${total} date between '2025-03-15' and '2025-04-15'`],
  ['revenue July to September', `${total} month(date) between 7 and 9`],
  ['revenue in the first three months', `${total} month(date) <= 3`],
  ['revenue of all regions but the North', `${total} region <> 'North'`],
  ['revenue without the Service Plan and the Filter Kit', `${total} product not in ('Service Plan', 'Filter Kit')`],
  ['revenue in the South, not counting Partner', `${total} region = 'South' and channel <> 'Partner'`],
  ['revenue with North left out', `${total} region <> 'North'`],
  ['revenue in regions that are neither North nor South', `${total} region in ('East', 'West')`],
  ['revenue except December', `${total} month(date) <> 12`],
  [
    'revenue by region except North',
    "select region, round(sum(amount), 2) s from sales where region <> 'North' group by 1 order by s desc",
  ],
  ['revenue on Saturdays', `${total} dayname(date) = 'Saturday'`],
  ['revenue by weekday', 'select dayname(date), round(sum(amount), 2) s from sales group by 1 order by s desc'],
  ['which day of the week did we sell most', 'select dayname(date), round(sum(amount), 2) s from sales group by 1 order by s desc'],
]

test('an exclusion or a beginning that nothing explains is left over, so that the person is asked', () => {
  for (const [question, word] of [
    ['revenue since then', 'since'],
    ['revenue after the 3rd', 'after'],
    ['revenue without anything special', 'without'],
    ['units of everything but the new ones', 'but'],
  ])
    assert.ok(readQuery(question!, { tables, latest: '2025-12-31' })?.unused.includes(word!), question)
})

test('questions become the SQL that answers them', async (t) => {
  for (const [question, expected] of [...questions, ...open]) {
    await t.test(question, async () => {
      const sql = select(question)
      const [rows, expectedSql] = [await rowsOf(sql), await rowsOf(expected)]
      const isRanked = /ORDER BY/.test(sql) && new Set(expectedSql.map((row) => row.at(-1))).size === expectedSql.length
      const sorted = (list: unknown[][]) => (isRanked ? list : list.map((row) => JSON.stringify(row)).toSorted())
      assert.deepEqual(sorted(rows), sorted(expectedSql), sql)
      assert.ok(rows.length > 0, sql)
    })
  }
})

test('a follow-up replaces the mentioned part', async () => {
  assert.deepEqual(
    await rowsOf(select('total sales by region', 'and for the South?', 'what about units?')),
    await rowsOf("select sum(units) from sales where region = 'South'"),
  )
  assert.deepEqual(
    await rowsOf(select('sales in March 2025 in the West', 'and in April 2025?')),
    await rowsOf("select round(sum(amount), 2) from sales where region = 'West' and month(date) = 4"),
  )
})

test('names and values cannot break out of their quotes', async () => {
  const odd = parseTables('- odd: "a ""b" DOUBLE, who VARCHAR (O\'Brien, Ng)')
  const reading = readQuery("total for O'Brien", { tables: odd })
  assert.ok(reading)
  assert.match(writeSelect(reading), /"who" = 'O''Brien'/)
  const hostile = readQuery(`Where is the customer "x' OR 1=1; --"?`, { tables: parseTables('- customers: name VARCHAR, machines BIGINT') })
  assert.doesNotMatch(writeSelect(hostile!), /OR 1=1/)
})

test('an order by a missing column is not invented', () => {
  assert.doesNotMatch(select('Which product has the highest wages?'), /ORDER BY/)
})

test('a question that mentions no part of the tables is no query', () => {
  assert.equal(readQuery('What is the meaning of life?', { tables }), undefined)
})

test('"which of them" ranks the groups of the question before, and "compare" compares revenue', () => {
  const isRanked = (sql: string) => sql.endsWith('GROUP BY 1 ORDER BY "total_amount" DESC')
  assert.ok(isRanked(select('Which products do you have sales for?', 'Which of them sold best in March?')))
  assert.ok(isRanked(select('Which products do you have sales for?', 'Which of them sold best in March?', 'And in April?')))
  assert.ok(isRanked(select('Compare the regions in May')))
})
