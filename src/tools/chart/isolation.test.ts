import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { after, test } from 'node:test'
import { contextOf } from '../../agent/react-fixture.ts'
import type { JsonObject } from '../../agent/messages.ts'
import { openFilesRoot } from '../../files/root.ts'
import { dependenciesOf } from '../dependencies-fixture.ts'
import { createChart } from './chart.ts'
import { gallery, galleryRows } from './gallery-fixture.ts'
import { drawChart, setUp } from './render.ts'

const spec = { name: 'chart', timeoutMs: 30_000, maxOutputCharacters: 20_000, config: {} }
const deps = dependenciesOf({ files: await openFilesRoot(tmpdir()), cacheDir: tmpdir() })
const { tool, close } = createChart(spec, deps)
after(() => close?.())

/** The picture drawn by the tool for a tenant. */
async function draw(tenant: string, chart: JsonObject, data?: JsonObject[]): Promise<string> {
  let svg = ''
  const context = contextOf({
    caller: { tenant, owner: `issuer ${tenant}` },
    async artifact(name, type, content) {
      svg = Buffer.from(content).toString()
      return { id: name, name, type, size: content.byteLength, sha256: '', tool: 'chart', createdAt: 0 }
    },
  })
  await tool.execute({ spec: chart, ...(data && { data }), format: 'svg' }, context)
  return withoutNumbers(svg)
}

/** The numbers of clips and gradients increase from chart to chart. */
function withoutNumbers(svg: string): string {
  return svg.replace(/(gradient_|clip)\d+/g, '$1')
}

function textsOf(svg: string): string[] {
  return [...svg.matchAll(/<text[^>]*>([^<]*)</g)].map(([, text]) => text!)
}

const victim = { mark: 'bar', encoding: { x: { field: 'name' }, y: { field: 'salary', type: 'quantitative' } } }
const salaries = [
  { name: 'Ada', salary: 4711 },
  { name: 'Bob', salary: 815 },
]

function calculating(calculate: string): JsonObject {
  return { mark: 'text', transform: [{ calculate, as: 'b' }], encoding: { text: { field: 'b' } } }
}

/** Expressions which name prototypes directly or as a concatenated text. */
const prototypes = [
  ['[].__proto__.__proto__', '(1).__proto__'],
  ["[]['__pro' + 'to__']['__pro' + 'to__']", "(1)['__pro' + 'to__']"],
  ["({}['constr' + 'uctor'])['proto' + 'type']", "(1)['constr' + 'uctor']['proto' + 'type']"],
]

test('a chart neither reads nor breaks later charts', async () => {
  const before = await draw('victims', victim, salaries)
  assert.deepEqual(textsOf(before).slice(0, 2), ['Ada', 'Bob'])
  for (const [objects, numbers] of prototypes) {
    const hook = `modify('source_0', null, null, null, ${numbers}, {stash: data('source_0')})`
    const attacks = [
      `modify('source_0', ${objects})`,
      `modify('source_0', null, null, null, ${objects}, {params: [{name: 'p1', expr: ${JSON.stringify(hook)}, type: 'x'}]})`,
      `modify('source_0', [${objects}], null, null, ${objects}, {signal: '1'})`,
      `setdata('source_0', [${objects}])`,
      `encode({mark: {source: ${objects}}}, 'x')`,
      `merge(${objects}, {polluted: 1})`,
    ]
    for (const attack of attacks) await draw('victims', calculating(attack), [{ a: 1 }]).catch(() => undefined)
  }
  assert.equal(await draw('victims', victim, salaries), before)
  assert.doesNotMatch(await draw('victims', calculating("join(pluck((1).stash || [], 'name'), ',') + ''"), [{ a: 1 }]), /Ada|Bob/)
})

test('an expression cannot read a prototype under any computed name', async () => {
  for (const [objects, numbers] of prototypes.slice(1)) {
    for (const reached of [objects!, numbers!]) {
      const drawn = await draw('readers', calculating(`isDefined(${reached}) ? 'reached' : 'nothing'`), [{ a: 1 }]).catch(() => '')
      assert.doesNotMatch(drawn, />reached</, reached)
    }
  }
})

const hostile: JsonObject[] = [
  ...['__proto__', 'constructor', 'toString'].flatMap((name): JsonObject[] => [
    { ...calculating('1'), params: [{ name, value: 1 }] },
    { mark: 'text', transform: [{ calculate: '1', as: name }], encoding: { text: { field: name } } },
    { mark: 'point', name },
    { mark: 'point', transform: [{ fold: ['a'], as: [name, 'v'] }] },
    { mark: 'point', datasets: Object.fromEntries([[name, [{ a: 1 }]]]), data: { name } },
    { mark: 'point', config: Object.fromEntries([[name, { polluted: 1 }]]) },
    { mark: 'point', config: { style: Object.fromEntries([[name, { polluted: 1 }]]) } },
  ]),
  { mark: 'point', encoding: { x: { field: 'constructor' } } },
  { mark: 'point', encoding: { x: { field: '__proto__.polluted' } } },
  { mark: 'point', transform: [{ aggregate: [{ op: 'count', as: 'n' }], groupby: ['__proto__'] }] },
  { mark: 'point', data: { values: '[{"__proto__": {"polluted": 1}}]', format: { type: 'json' } } },
  { mark: 'point', data: { values: '__proto__,a\n1,2\n', format: { type: 'csv' } } },
]

test('a specification with the name of a prototype is refused with the path', async () => {
  for (const chart of hostile) {
    const rows = 'data' in chart ? undefined : [{ a: 1 }]
    await assert.rejects(draw('refused', chart, rows), /cannot be named|cannot mention|named __proto__/, JSON.stringify(chart))
  }
  const rows = [JSON.parse('{"a": {"b": [{"__proto__": {"polluted": 1}}]}}') as JsonObject]
  await assert.rejects(draw('refused', { mark: 'point', encoding: { x: { field: 'a' } } }, rows), /row can have a property named __proto__/)
})

test('groups named like a prototype leave no state behind', async () => {
  const before = await draw('groups', victim, salaries)
  for (const name of ['__proto__', 'constructor', 'hasOwnProperty']) {
    const rows = galleryRows.map((row) => ({ ...row, group: name, sub: name }))
    for (const chart of Object.values(gallery)) await draw('groups', chart, 'data' in chart ? undefined : rows).catch(() => undefined)
  }
  assert.equal(await draw('groups', victim, salaries), before)
})

test('every kind of chart is the same from a sandboxed process and from an open process', async () => {
  setUp()
  for (const [name, chart] of Object.entries(gallery)) {
    const data = 'data' in chart ? {} : { rows: galleryRows }
    const { svg } = await drawChart({ text: JSON.stringify({ spec: chart, ...data }), svg: true, png: false }, undefined)
    assert.equal(await draw('gallery', chart, data.rows), withoutNumbers(Buffer.from(svg!.bytes).toString()), name)
  }
})
