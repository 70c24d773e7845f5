import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse, View } from 'vega'
import { compile } from 'vega-lite'
import { expressions } from './expressions.ts'

const quiet = { level: () => 0, error: () => quiet, warn: () => quiet, info: () => quiet, debug: () => quiet }

async function draw(spec: object, isInterpreted: boolean): Promise<string> {
  const { spec: compiled } = compile(spec as Parameters<typeof compile>[0], { logger: quiet })
  const options = { renderer: 'none', logger: quiet, ...(isInterpreted && { expr: expressions }) }
  const svg = await new View(parse(compiled, undefined, { ast: isInterpreted }), options as never).toSVG()
  // Numbers of gradients and clips increase from chart to chart.
  return svg.replace(/(gradient_|clip)\d+/g, '$1')
}

const values = [
  { group: 'a', sub: 'p', amount: 28, at: '2024-01-05T10:20:30Z', text: 'One Two' },
  { group: 'b', sub: 'p', amount: -5.5, at: '2024-02-07T11:21:31Z', text: 'three' },
  { group: 'a', sub: 'q', amount: 43, at: '2024-03-09T12:22:32Z', text: '' },
  { group: 'c', sub: 'q', amount: 0, at: '2025-03-09T12:22:32Z', text: null },
]
const amount = { field: 'amount', type: 'quantitative' }

const specs: Record<string, object> = {
  bars: { mark: 'bar', encoding: { x: { field: 'group' }, y: { ...amount, aggregate: 'sum' }, color: { field: 'sub' } } },
  grouped: { mark: 'bar', encoding: { x: { field: 'group' }, xOffset: { field: 'sub' }, y: amount } },
  ranges: { mark: 'bar', encoding: { y: { field: 'group' }, x: amount, x2: { datum: 12 } } },
  lines: { mark: { type: 'line', point: true }, encoding: { x: { field: 'at', type: 'temporal' }, y: amount } },
  months: { mark: 'area', encoding: { x: { field: 'at', timeUnit: 'yearmonth' }, y: { ...amount, aggregate: 'mean' } } },
  histogram: { mark: 'bar', encoding: { x: { ...amount, bin: true }, y: { aggregate: 'count' } } },
  pie: { mark: { type: 'arc', innerRadius: 20 }, encoding: { theta: amount, color: { field: 'group' } } },
  boxes: { mark: 'boxplot', encoding: { x: { field: 'group' }, y: amount } },
  heat: { mark: 'rect', encoding: { x: { field: 'group' }, y: { field: 'sub' }, color: amount } },
  facets: { mark: 'point', encoding: { x: amount, y: amount, column: { field: 'group' }, size: amount, shape: { field: 'sub' } } },
  layers: {
    layer: [
      { mark: 'bar', encoding: { x: { field: 'group' }, y: amount } },
      { mark: 'rule', encoding: { y: { ...amount, aggregate: 'mean' } } },
    ],
  },
  conditions: {
    params: [
      { name: 'limit', value: 10 },
      { name: 'brush', select: 'interval' },
    ],
    mark: { type: 'text', fontSize: { expr: 'limit + 2' } },
    encoding: {
      x: { field: 'group' },
      y: { ...amount, scale: { type: 'symlog' } },
      text: { field: 'text' },
      color: { condition: { test: 'datum.amount > limit && !(datum.sub === "q")', value: 'red' }, value: 'blue' },
      opacity: { condition: { param: 'brush', value: 1 }, value: 0.2 },
    },
  },
  gradients: {
    mark: {
      type: 'area',
      color: {
        gradient: 'linear',
        stops: [
          { offset: 0, color: 'white' },
          { offset: 1, color: 'green' },
        ],
      },
    },
    encoding: { x: { field: 'at', type: 'temporal' }, y: amount },
  },
  map: { data: { graticule: true }, projection: { type: 'mercator' }, mark: 'geoshape' },
}

test('charts are the same as with expressions compiled by Vega', async (t) => {
  for (const [name, spec] of Object.entries(specs)) {
    await t.test(name, async () => {
      const whole = { data: { values }, ...spec }
      assert.equal(await draw(whole, true), await draw(whole, false))
    })
  }
})

const calculations = [
  '-datum.amount + 2 * 3 % 4 - 1 / 8',
  '~5 ^ 3 | 8 & 12',
  '(1 << 4) + (256 >> 2) + (-1 >>> 28)',
  'datum.amount == "28" ? "same" : datum.amount != 28 ? "other" : "none"',
  'datum.amount === 28 || datum.amount !== 43 && !datum.text',
  'if(datum.amount >= 28, "big", datum["text"])',
  '[1, "two", datum.group][1] + {a: 1, "b c": datum.sub}["b c"]',
  'clamp(datum.amount, 0, 30) + max(1, 2) + round(PI * 100)',
  'upper(datum.text) + lower("ABC") + substring("abcdef", 1, 3) + trim("  x ")',
  'length(split("a,b,c", ","))',
  'test(/t/i, datum.text) + "," + test(regexp("^O"), datum.text)',
  'replace("banana", /an/g, "x") + indexof("abc", "c") + join(["a", "b"], "-") + slice("abcdef", 2, 4)',
  'year(datum.at) + month(datum.at) + date(datum.at) + day(datum.at)',
  'hours(toDate(datum.at)) + utchours(datum.at) + utc(2024, 0, 1) + time(datetime(2024, 1, 2))',
  'format(datum.amount, ",.2f") + utcFormat(toDate(datum.at), "%B %Y") + timeFormat(datetime(2024, 4, 5), "%d")',
  'isNaN(datum.amount) + "" + isValid(datum.text) + isString(datum.text) + toString(12) + toNumber("3")',
  'lerp([0, 10], 0.5) + extent([3, 1, 2])[1] + inrange(2, [1, 3])',
  'datum.missing + "/" + (datum.text || "nothing")',
]

test('expressions return the same values as expressions compiled by Vega', async () => {
  const transform = calculations.map((calculate, at) => ({ calculate, as: `c${at}` }))
  for (const isInterpreted of [true, false]) {
    const svg = await draw(textsOf(transform), isInterpreted)
    assert.equal(svg, await draw(textsOf(transform), false))
    assert.match(svg, />One Two|nothing|banana|bxxa/)
  }
})

function textsOf(transform: { as: string }[]): object {
  const layer = transform.map(({ as }, at) => ({
    mark: { type: 'text', dy: at * 10 },
    encoding: { x: { field: 'group' }, text: { field: as } },
  }))
  return { data: { values }, transform, layer }
}

test('no expression reaches a function or its owner', async () => {
  const refused = [
    'datum.constructor.constructor("return process")()',
    'constructor("return process")',
    'hasOwnProperty("a")',
    '__proto__',
    '{toString: 1}',
    '{"__proto__": datum}',
    'datum.text.constructor.name',
    'datum => datum',
    'process.exit()',
  ]
  for (const calculate of refused) {
    const spec = {
      data: { values: [{ text: 'a' }] },
      transform: [{ calculate, as: 'out' }],
      mark: 'text',
      encoding: { text: { field: 'out' } },
    }
    const svg = await draw(spec, true).catch(() => 'refused')
    assert.doesNotMatch(svg, />(Object|String|function|\[object process\])/, calculate)
  }
  const spec = {
    data: { values: [{ a: 1 }] },
    transform: [{ calculate: 'isDefined(datum["constr" + "uctor"])', as: 'out' }],
    mark: 'text',
    encoding: { text: { field: 'out' } },
  }
  assert.match(await draw(spec, true), />false</)
})
