import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { after, test } from 'node:test'
import sharp from 'sharp'
import { contextOf } from '../../agent/react-fixture.ts'
import type { JsonObject, JsonValue } from '../../agent/messages.ts'
import { openFilesRoot } from '../../files/root.ts'
import { dependenciesOf } from '../dependencies-fixture.ts'
import { createChart } from './chart.ts'
import { nameOf, toRows } from './rows.ts'
import { readDelimited } from './specification.ts'

const spec = { name: 'chart', timeoutMs: 30_000, maxOutputCharacters: 20_000, config: {} }
const deps = dependenciesOf({ files: await openFilesRoot(tmpdir()), cacheDir: tmpdir() })
const built = createChart(spec, deps)
after(() => built.close?.())

interface Made {
  output: {
    files: { file_name: string; file_type: string; width: number; height: number }[]
    width: number
    height: number
    rows: number
    warnings?: string[]
  }
  bytes: Map<string, Buffer>
}

async function draw(input: JsonObject, latest?: JsonValue, { tool } = built): Promise<Made> {
  const bytes = new Map<string, Buffer>()
  const context = contextOf({
    latestOutput: (name) => (name === 'sales' ? latest : undefined),
    async artifact(name, type, content) {
      bytes.set(name, Buffer.from(content))
      return { id: name, name, type, size: content.byteLength, sha256: '', tool: 'chart', createdAt: 0 }
    },
  })
  assert.equal(tool.check(input), undefined)
  return { output: (await tool.execute(input, context)) as unknown as Made['output'], bytes }
}

const rows = [
  { region: 'North', amount: 28 },
  { region: 'South', amount: 55 },
]
const encoding = { x: { field: 'region', type: 'nominal' }, y: { field: 'amount', type: 'quantitative' } }
const bars = { title: 'Sales by region', mark: 'bar', encoding }

test('rows and a specification become a PNG and an SVG, named after the title', async () => {
  const { output, bytes } = await draw({ spec: bars, data: rows })
  assert.deepEqual(
    output.files.map(({ file_name, file_type }) => [file_name, file_type]),
    [
      ['sales-by-region.png', 'image/png'],
      ['sales-by-region.svg', 'image/svg+xml'],
    ],
  )
  const { width, height, format } = await sharp(bytes.get('sales-by-region.png')).metadata()
  assert.deepEqual({ format, width, height }, { format: 'png', width: output.width, height: output.height })
  assert.deepEqual({ rows: output.rows, warnings: output.warnings }, { rows: 2, warnings: undefined })
  const { dominant } = await sharp(bytes.get('sales-by-region.png')).stats()
  assert.deepEqual(
    Object.values(dominant).map((level) => level > 240),
    [true, true, true],
  )
  assert.match(bytes.get('sales-by-region.svg')!.toString(), /^<svg [^>]*>.*>North<.*>Sales by region</s)
})

test('only the requested format is made', async () => {
  for (const format of ['svg', 'png']) {
    const { output } = await draw({ spec: bars, data: rows, format })
    assert.deepEqual(
      output.files.map((file) => file.file_name),
      [`sales-by-region.${format}`],
    )
  }
})

test('the last result of a tool is charted by its name, with a note about omitted rows', async () => {
  const result = {
    columns: ['region', 'amount'],
    rows: [
      ['North', 28],
      ['South', 55],
    ],
    row_count: 2,
    truncated: true,
  }
  const { output } = await draw({ spec: bars, data: 'sales' }, result)
  assert.equal(output.rows, 2)
  assert.match(output.warnings?.[0] ?? '', /Only the first 2 rows/)
  await assert.rejects(draw({ spec: bars, data: 'sales' }), /sales has returned no result in this run/)
  await assert.rejects(draw({ spec: bars, data: 'sales' }, 'words'), /The result of sales is not a list of rows/)
  await assert.rejects(draw({ spec: bars, data: 'sales' }, { columns: ['a'], rows: [] }), /no rows to chart/)
})

test('layers, facets, transforms, maps, text tables and inline images are drawn', async () => {
  const pixel = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
  const csv = { values: 'region,amount\nNorth,28\n"South, and ""more""",55\n', format: { type: 'csv' } }
  const specs: JsonObject[] = [
    {
      layer: [
        { mark: 'bar', encoding },
        { mark: { type: 'text', dy: -8 }, encoding: { ...encoding, text: { field: 'amount' } } },
      ],
    },
    { facet: { field: 'region' }, spec: { mark: 'bar', encoding } },
    {
      repeat: { column: ['amount'] },
      spec: { mark: 'bar', encoding: { ...encoding, y: { field: { repeat: 'column' }, type: 'quantitative' } } },
    },
    {
      transform: [{ window: [{ op: 'sum', field: 'amount', as: 'total' }] }],
      mark: 'line',
      encoding: { ...encoding, y: { field: 'total', type: 'quantitative' } },
    },
    { transform: [{ fold: ['amount'] }], mark: 'bar', encoding: { x: { field: 'key' }, y: { field: 'value', type: 'quantitative' } } },
    { data: { graticule: true }, projection: { type: 'orthographic' }, mark: 'geoshape' },
    { data: csv, mark: 'bar', encoding },
    { datasets: { own: rows }, data: { name: 'own' }, mark: 'bar', encoding },
    { mark: { type: 'image', url: pixel, width: 9, height: 9 }, encoding: { x: encoding.y } },
    { width: 'container', mark: { type: 'bar', href: 'https://elsewhere.example' }, encoding },
  ]
  for (const chartSpec of specs) {
    const { bytes } = await draw({ spec: chartSpec, ...(!('data' in chartSpec) && { data: rows }), format: 'svg' })
    const svg = [...bytes.values()][0]!.toString()
    assert.match(svg, /mark-\w+ role-mark/, JSON.stringify(chartSpec))
    assert.doesNotMatch(svg, /elsewhere/)
  }
})

test('an error in the specification is reported in a sentence with its path', async () => {
  const faults: [JsonObject, RegExp][] = [
    [
      { mark: 'bar', encoding: { ...encoding, y: { field: 'amuont', type: 'quantitative' } } },
      /^spec\.encoding\.y\.field is “amuont”, which the data does not have\. Its fields are: region, amount\.$/,
    ],
    [{ layer: [{ mark: 'bar', encoding: { x: { field: 'Region' } } }] }, /^spec\.layer\[0\]\.encoding\.x\.field is “Region”/],
    [
      { mark: 'bar', encoding: { ...encoding, y: { field: 'amount', type: 'number' } } },
      /^spec\.encoding\.y\.type must be one of quantitative, /,
    ],
    [{ mark: 'pie', encoding }, /^spec\.mark must be one of arc, .* \(a pie is an arc\)\.$/],
    [{ encoding }, /^spec must have a mark/],
    [{ $schema: 'https://vega.github.io/schema/vega/v6.json', marks: [] }, /must be a Vega-Lite specification/],
    [{ width: 1e9, mark: 'bar', encoding }, /^spec\.width must be between/],
    [{ transform: [{ calculate: 'datum.amount +* 2', as: 'b' }], mark: 'bar', encoding }, /^The chart cannot be drawn: /],
  ]
  for (const [chartSpec, message] of faults) await assert.rejects(draw({ spec: chartSpec, data: rows }), { message })
  await assert.rejects(draw({ spec: { mark: 'bar', encoding: {} } }), /^Error: There is no data/)
})

test('likely mistakes cause warnings', async () => {
  const untyped = { mark: 'line', encoding: { x: { field: 'day' }, y: { field: 'amount' } } }
  const days = [1, 2, 3].map((amount) => ({ day: `2024-01-0${amount}`, amount, price: `${amount} EUR` }))
  const { output } = await draw({ spec: untyped, data: days })
  assert.match(output.warnings?.join('\n') ?? '', /encoding\.x has no type.*temporal[^]*encoding\.y has no type.*quantitative/)
  const words = await draw({
    spec: { mark: 'bar', encoding: { x: { field: 'price', type: 'quantitative' }, colour: { field: 'day' } } },
    data: days,
  })
  assert.match(words.output.warnings?.join('\n') ?? '', /not numbers, such as “1 EUR”[^]*colour is not a valid encoding channel/)
})

test('a specification cannot load, link or run anything', async () => {
  const image = (url: string) => ({ mark: { type: 'image', url }, encoding: { x: encoding.y } })
  const refused: JsonObject[] = [
    { data: { url: 'file:///etc/passwd' }, mark: 'bar', encoding },
    { data: { url: 'http://169.254.169.254/latest' }, mark: 'bar', encoding },
    { transform: [{ lookup: 'region', from: { data: { url: '/etc/passwd' }, key: 'a', fields: ['b'] } }], mark: 'bar', encoding },
    { layer: [{ data: { url: 'https://elsewhere.example/map.json', format: { type: 'topojson', feature: 'a' } }, mark: 'geoshape' }] },
    image('file:///etc/passwd'),
    image('/etc/passwd'),
    image('https://elsewhere.example/a.png'),
    image(
      `data:image/svg+xml;base64,${Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><image href="/etc/passwd"/></svg>').toString('base64')}`,
    ),
    { mark: { type: 'bar', fill: 'url(https://elsewhere.example/a.svg#b)' }, encoding },
    { mark: { type: 'text', font: 'a;background:url(https://elsewhere.example)' }, encoding: { ...encoding, text: { field: 'region' } } },
    { transform: [{ calculate: 'datum.constructor.constructor("return process")()', as: 'b' }], mark: 'bar', encoding },
    { params: [{ name: 'p', expr: '{toString: 1}' }], mark: 'bar', encoding },
  ]
  for (const chartSpec of refused) {
    await assert.rejects(
      draw({ spec: chartSpec, ...(!('data' in chartSpec) && { data: rows }) }),
      /cannot be loaded|contains an address|cannot be drawn/,
      JSON.stringify(chartSpec),
    )
  }
})

test('a title is always treated as text', async () => {
  const { bytes } = await draw({ spec: { ...bars, title: '<script>alert(1)</script> url(https://elsewhere.example)' }, data: rows })
  assert.doesNotMatch([...bytes.values()][1]!.toString(), /<script/)
})

test('an endless or oversized chart fails alone, and the next is drawn', async (t) => {
  const brief = createChart(spec, deps, { chartMs: 2_500 })
  t.after(() => brief.close?.())
  const point = (sequence: object, options: JsonObject = {}) => ({
    ...options,
    data: { sequence: { ...sequence, as: 'i' } },
    mark: 'point',
    encoding: { x: { field: 'i', type: 'quantitative' } },
  })
  const endless: JsonObject[] = [
    point({ start: 0, stop: 1e9 }),
    { ...point({ start: 0, stop: 1e6 }), encoding: { row: { field: 'i' }, x: { field: 'i', type: 'quantitative' } } },
    {
      transform: [{ filter: "test(/(a+)+$/, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!')" }],
      mark: 'bar',
      encoding,
      data: { values: rows },
    },
    { mark: 'point', encoding: { x: { field: 'amount', type: 'quantitative', axis: { tickCount: 1e8 } } }, data: { values: rows } },
  ]
  for (const chartSpec of endless) {
    await assert.rejects(
      draw({ spec: chartSpec }, undefined, brief),
      /took longer than 2\.5 s|too much memory|too many marks|Invalid array length/,
      JSON.stringify(chartSpec),
    )
  }
  const large = { ...bars, width: 9000, height: 9000 }
  await assert.rejects(draw({ spec: large, data: rows }, undefined, brief), /would have \d+ × \d+ pixels/)
  const manyRows = Array.from({ length: 100_001 }, () => ({ a: 1 }))
  await assert.rejects(draw({ spec: bars, data: manyRows }, undefined, brief), /at most 100000 can be charted/)
  assert.equal((await draw({ spec: bars, data: rows }, undefined, brief)).output.rows, 2)
})

test('a cancelled call ends at once', async () => {
  const context = contextOf({ signal: AbortSignal.timeout(200) })
  const started = performance.now()
  const endless = {
    data: { sequence: { start: 0, stop: 3e7, as: 'i' } },
    mark: 'point',
    encoding: { x: { field: 'i', type: 'quantitative' } },
  }
  await assert.rejects(built.tool.execute({ spec: endless }, context), { name: 'TimeoutError' })
  assert.ok(performance.now() - started < 10_000)
})

test('rows are found in tool results of every form', () => {
  const expected = [{ a: 1, b: 'x' }]
  for (const value of [
    expected,
    JSON.stringify(expected),
    { columns: ['a', 'b'], rows: [[1, 'x']] },
    { results: expected, count: 1 },
    { structured_content: { results: expected }, text: 'a 1' },
    [
      ['a', 'b'],
      [1, 'x'],
    ],
  ] as JsonValue[]) {
    assert.deepEqual(toRows(value)?.rows, expected, JSON.stringify(value))
  }
  for (const value of ['words', 7, null, { a: 1 }, [1, 2], { a: expected, b: expected }] as JsonValue[])
    assert.equal(toRows(value), undefined)
})

test('columns with the same name are renamed', () => {
  assert.deepEqual(toRows({ columns: ['a', 'a', 'a_1'], rows: [[1, 2, 3]] })?.rows, [{ a: 1, a_1: 2, a_1_1: 3 }])
})

test('a file is named after the title, up to a maximum length', () => {
  assert.equal(nameOf({ title: 'Sales: North/South (2024)' }), 'sales-north-south-2024')
  assert.equal(nameOf({ title: { text: ['Über', 'alles'], subtitle: 'x' } }), 'über-alles')
  assert.equal(nameOf({ description: 'From the description' }), 'from-the-description')
  assert.equal(nameOf({ title: { expr: 'a' } }), 'chart')
  assert.ok(nameOf({ title: 'long words '.repeat(30) }).length <= 60)
})

test('a text table is parsed with quotes, empty cells and all kinds of line ends', () => {
  const read = readDelimited(',')
  assert.deepEqual(
    [...read('a,b\r\n1,"x, ""y""\nz"\n2,\n\n')],
    [
      { a: '1', b: 'x, "y"\nz' },
      { a: '2', b: '' },
    ],
  )
  assert.deepEqual([...read('a\n"unended')], [{ a: 'unended' }])
  assert.deepEqual([...read('')], [])
})
