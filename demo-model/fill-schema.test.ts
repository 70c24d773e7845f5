import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonSchema, JsonValue, Message } from '../src/agent/messages.ts'
import { fillSchema } from './fill-schema.ts'

const result = (output: JsonValue, isError = false): Message => {
  return { role: 'tool', callId: 'c', name: 'tool', text: typeof output === 'string' ? output : JSON.stringify(output), isError }
}

const rows = result({
  columns: ['region', 'total_amount'],
  rows: [
    ['North', 10.5],
    ['South', 7],
  ],
})
const time = result({ time: '2026-11-22T23:00:00Z', timezone: 'UTC', weekday: 'Sunday' })
const number = { type: 'number' }
const text = { type: 'string' }
const object = (properties: Record<string, JsonSchema>, required = Object.keys(properties)) => ({ type: 'object', properties, required })

test('properties are filled by the names in the results', () => {
  const region = object({ region: text, total: number })
  const cases: [JsonSchema, Message[], JsonValue | undefined][] = [
    [object({ weekday: text, timezone: text }), [time], { weekday: 'Sunday', timezone: 'UTC' }],
    [object({ Week_Day: text, moon: text }, ['Week_Day']), [time], { Week_Day: 'Sunday' }],
    [object({ moon: text }), [time], undefined],
    [object({ answer: number }), [result({ expression: '6*7', result: '42' })], { answer: 42 }],
    [object({ answer: text }), [], { answer: 'In words.' }],
    [object({ city: text }), [], undefined],
    [object({ weekday: text }), [result({ weekday: 'Sunday' }, true)], undefined],
    [
      { type: 'array', items: region },
      [rows],
      [
        { region: 'North', total: 10.5 },
        { region: 'South', total: 7 },
      ],
    ],
    [object({ regions: { type: 'array', items: { $ref: '#/$defs/r' } } }), [rows], undefined],
    [
      { ...object({ regions: { type: 'array', items: { $ref: '#/$defs/r' } } }), $defs: { r: region } },
      [time, rows],
      {
        regions: [
          { region: 'North', total: 10.5 },
          { region: 'South', total: 7 },
        ],
      },
    ],
    [object({ regions: { type: 'array', items: text } }), [rows], { regions: ['North', 'South'] }],
    [
      object({ day: { enum: ['sunday', 'monday'] }, kind: { const: 'time' } }),
      [result({ day: 'Monday' })],
      { day: 'monday', kind: 'time' },
    ],
    [object({ weekday: { anyOf: [number, { type: 'null' }] } }), [time], { weekday: null }],
    [object({ place: object({ name: text }) }), [result({ place: { name: 'Oslo' }, name: 'other' })], { place: { name: 'Oslo' } }],
    [{ type: 'object' }, [time], { time: '2026-11-22T23:00:00Z', timezone: 'UTC', weekday: 'Sunday' }],
  ]
  for (const [schema, run, expected] of cases) assert.deepEqual(fillSchema(schema, run, 'In **words**.'), expected, JSON.stringify(schema))
})
