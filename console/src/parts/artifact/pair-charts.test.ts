import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pairCharts } from './pair-charts.ts'

const file = (file_name: string, file_type: string) => ({ file_name, file_type })

test('a chart in two formats is one file with its PNG; other files stay as they are', () => {
  const [png, svg] = [file('sales.png', 'image/png'), file('sales.svg', 'image/svg+xml')]
  const [photo, table] = [file('photo.png', 'image/png'), file('sales.csv', 'text/csv')]
  assert.deepEqual(pairCharts([png, svg, photo, table]), [
    { file: svg, png },
    { file: photo, png: undefined },
    { file: table, png: undefined },
  ])
})
