import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ToolMessage } from '../../src/agent/messages.ts'
import { chooseChart } from './tables.ts'

const chart = {
  name: 'chart',
  description: 'Draws Vega-Lite.',
  effect: 'read' as const,
  schema: { type: 'object', properties: { spec: {}, data: {} } },
}

function result(columns: string[], rows: unknown[][], isError = false): ToolMessage {
  return { role: 'tool', callId: 'c', name: 'sales', text: JSON.stringify({ columns, rows }), isError }
}

const regions = result(
  ['region', 'total_amount'],
  [
    ['North', 1],
    ['South', 2.5],
  ],
)
const drawn = (request: string, figures = regions) => chooseChart(request, [chart], figures)?.input as any

test('figures are drawn by category or time, if the request asks for a chart', () => {
  const { spec, data } = drawn('Draw a chart of the sales by region')
  assert.equal(data, 'sales')
  assert.deepEqual(spec, {
    title: 'Total amount by region',
    mark: 'bar',
    encoding: {
      x: { field: 'region', type: 'ordinal', title: 'Region', sort: null },
      y: { field: 'total_amount', type: 'quantitative', title: 'Total amount' },
    },
  })
  assert.equal(drawn('a pie chart of sales by region').spec.mark, 'arc')
  const months = result(
    ['month', 'region', 'amount'],
    [
      ['2026-01', 'North', 1],
      ['2026-02', 'North', 2],
    ],
  )
  assert.deepEqual(drawn('plot the sales per month', months).spec.mark, { type: 'line', point: true })
  assert.equal(drawn('plot the sales per month', months).spec.encoding.color.field, 'region')
  assert.equal(drawn('a bar chart of the sales per month', months).spec.mark, 'bar')
  assert.equal(
    drawn(
      'a graph by year',
      result(
        ['year', 'n'],
        [
          [2025, 1],
          [2026, 2],
        ],
      ),
    ).spec.encoding.x.field,
    'year',
  )
})

test('no chart is drawn without a request, figures, a complete result and a chart tool', () => {
  assert.equal(drawn('What were the sales by region?'), undefined)
  assert.equal(drawn('a chart', result(['region', 'total_amount'], [['North', 1]])), undefined)
  assert.equal(
    drawn(
      'a chart',
      result(
        ['a', 'b'],
        [
          ['x', 'y'],
          ['z', 'w'],
        ],
      ),
    ),
    undefined,
  )
  assert.equal(
    drawn(
      'a chart',
      result(
        ['a', 'b'],
        [
          ['x', 1],
          ['z', 2],
        ],
        true,
      ),
    ),
    undefined,
  )
  assert.equal(drawn('a chart', { ...regions, text: `${regions.text.slice(0, 30)}\n[cut]` }), undefined)
  assert.equal(chooseChart('a chart', [{ ...chart, description: 'Files a chart.' }], regions), undefined)
})
