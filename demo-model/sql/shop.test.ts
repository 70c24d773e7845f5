import assert from 'node:assert/strict'
import { test } from 'node:test'
import { correct } from './answer-query.ts'
import { readQuery } from './read-query.ts'
import { writeSelect } from './select.ts'
import { parseTables } from './tables.ts'

const tables =
  parseTables(`- orders: order_id VARCHAR (O-3344), customer_id VARCHAR (K-220), ordered_on DATE, shipping VARCHAR (express, pickup), shipped_on DATE, total DOUBLE
- order_lines: order_id VARCHAR (O-3344), product VARCHAR (Stove Kettle, Stove Kettle Large), quantity BIGINT, amount DOUBLE
- products: product VARCHAR (Stove Kettle, Stove Kettle Large), price DOUBLE, stock BIGINT
- customers: customer_id VARCHAR (K-220), name VARCHAR (Ruth Abbott), phone VARCHAR, city VARCHAR (Ghent, Leeds)`)

const questions: [question: string, sql: RegExp][] = [
  ['Who spent the most in 2026?', /^SELECT "name", round\(sum\("total"\), 2\).* GROUP BY 1 ORDER BY "total" DESC/],
  ['What was bought in order O-3344?', /^SELECT \* FROM "order_lines" WHERE "order_id" = 'O-3344'/],
  ['Do we still have the large stove kettle?', /"stock" FROM "products" WHERE "product" = 'Stove Kettle Large'/],
  ['How many stove kettles were sold, and for how much money?', /^SELECT sum\("quantity"\) .*, round\(sum\("amount"\), 2\)/],
  ['Number of orders per shipping method in 2026', /GROUP BY 1/],
  ['orders on Christmas Eve 2025', /"ordered_on" >= DATE '2025-12-24' AND "ordered_on" < DATE '2025-12-25'/],
  ['orders on the 24th of December', /\(month\("ordered_on"\) = 12 AND day\("ordered_on"\) = 24\)/],
  ['How many orders between 1 and 7 November 2026?', /"ordered_on" >= DATE '2026-11-01' AND "ordered_on" < DATE '2026-11-08'/],
  ['How many orders since the beginning of 2026?', /"ordered_on" >= DATE '2026-01-01'/],
  ["What's in order O-3344?", /^SELECT \* FROM "order_lines"/],
  ['orders shipped in March 2026', /WHERE \("shipped_on" >= DATE '2026-03-01'/],
  ['Which customers are in Leeds or Ghent?', /^SELECT \* FROM "customers" WHERE "city" IN/],
  ['Who placed order O-3344?', /^SELECT .*"name".* FROM "orders" LEFT JOIN .*"customers".* WHERE "order_id" = 'O-3344'/],
  ['Of which product have we sold the fewest pieces?', /^SELECT "product", sum\("quantity"\).* GROUP BY 1 ORDER BY .* ASC/],
  ['Phone number of Ruth Abbott?', /^SELECT .*"phone" FROM "customers" WHERE "name" = 'Ruth Abbott'/],
  ['how many stove kettles are left?', /"stock" FROM "products"/],
  ['do we have anybody in Leeds?', /FROM "customers" WHERE "city" = 'Leeds'/],
]

test('questions about orders, their lines, persons and days become queries', async (t) => {
  for (const [question, sql] of questions)
    await t.test(question, () => {
      const query = readQuery(question, { tables })
      assert.ok(query)
      assert.deepEqual(query.unused, [])
      assert.match(writeSelect(query), sql)
    })
})

test('"who" is not answered without persons', () => {
  assert.deepEqual(readQuery('Who bought the Stove Kettle?', { tables })!.unused, ['Who'])
})

test('"shipping" is a column, not the date "shipped on"', () => {
  assert.match(writeSelect(readQuery('orders per shipping in 2026', { tables })!), /WHERE \("ordered_on"/)
})

test('a short function word without its vowels is corrected, and no other word', () => {
  assert.equal(correct('how mny orders frm Leeds', ['mny', 'frm'], { tables }).question, 'how many orders from Leeds')
  assert.deepEqual(correct('how many', ['many'], { tables }).notes, [])
})
