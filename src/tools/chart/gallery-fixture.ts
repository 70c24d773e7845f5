import type { JsonObject } from '../../agent/messages.ts'

/** Rows for every chart of the gallery. Two columns and two groups are named like properties of every JavaScript object. */
export const galleryRows: JsonObject[] = [
  { group: 'a', sub: 'p', amount: 28, at: '2024-01-05T10:20:30Z', constructor: 'x', lat: 1, lon: 2, toString: 1 },
  { group: 'b', sub: 'p', amount: -5.5, at: '2024-02-07T11:21:31Z', constructor: 'y', lat: 5, lon: 8, toString: 2 },
  { group: 'a', sub: 'q', amount: 43, at: '2024-03-09T12:22:32Z', constructor: 'x', lat: 9, lon: 1, toString: 3 },
  { group: 'constructor', sub: 'q', amount: 3, at: '2025-03-09T12:22:32Z', constructor: 'y', lat: 2, lon: 2, toString: 4 },
  { group: 'valueOf', sub: 'p', amount: 12, at: '2025-04-09T12:22:32Z', constructor: 'z', lat: 3, lon: 4, toString: 5 },
]

const x = { field: 'group', type: 'nominal' }
const y = { field: 'amount', type: 'quantitative' }
const time = { field: 'at', type: 'temporal' }
const color = { field: 'sub', type: 'nominal' }
const point = { mark: 'point', encoding: { x: y, y: { field: 'lat', type: 'quantitative' } } }

function transformed(transform: JsonObject[], field: string): JsonObject {
  return { transform, mark: 'point', encoding: { x, y: { field, type: 'quantitative' } } }
}

/** A chart of each mark, composition and transform. */
export const gallery: Record<string, JsonObject> = {
  bar: { mark: 'bar', encoding: { x, y: { ...y, aggregate: 'sum' }, color } },
  stacked: { mark: 'bar', encoding: { x, y: { ...y, stack: 'normalize' }, color, order: { field: 'at' } } },
  grouped: { mark: 'bar', encoding: { x, xOffset: color, y, color } },
  line: { mark: { type: 'line', point: true, interpolate: 'monotone' }, encoding: { x: time, y, color } },
  trail: { mark: 'trail', encoding: { x: time, y, size: y } },
  area: { mark: 'area', encoding: { x: { ...time, timeUnit: 'yearmonth' }, y: { ...y, aggregate: 'mean' }, color } },
  pie: { mark: { type: 'arc', innerRadius: 30 }, encoding: { theta: { ...y, aggregate: 'sum' }, color: x } },
  boxes: { mark: 'boxplot', encoding: { x, y } },
  errorBars: {
    layer: [
      { mark: 'errorbar', encoding: { x, y } },
      { mark: 'errorband', encoding: { x: color, y } },
    ],
  },
  heat: { mark: 'rect', encoding: { x, y: color, color: { ...y, aggregate: 'max' } } },
  ticks: { mark: 'tick', encoding: { x: y, y: x } },
  text: { mark: 'text', encoding: { x, y, text: { ...y, format: '.1f' } } },
  shapes: { mark: 'point', encoding: { x: y, y: { field: 'lon', type: 'quantitative' }, shape: x, size: y, opacity: { value: 0.5 } } },
  rules: {
    layer: [
      { mark: 'square', encoding: { x, y } },
      { mark: 'rule', encoding: { y: { ...y, aggregate: 'mean' } } },
    ],
  },
  histogram: { mark: 'bar', encoding: { x: { ...y, bin: { maxbins: 5 } }, y: { aggregate: 'count' } } },
  logarithmic: {
    mark: 'circle',
    encoding: { x, y: { ...y, scale: { type: 'symlog' } }, color: { ...y, scale: { type: 'quantize', scheme: 'viridis' } } },
  },
  facets: { ...point, encoding: { ...point.encoding, column: { field: 'group' }, row: { field: 'sub' } } },
  wrapped: {
    facet: { field: 'sub' },
    columns: 2,
    spec: { mark: 'bar', encoding: { x, y } },
    resolve: { scale: { y: 'independent' } },
  },
  repeated: {
    repeat: { column: ['amount', 'lat'] },
    spec: { mark: 'bar', encoding: { x, y: { field: { repeat: 'column' }, type: 'quantitative' } } },
  },
  joined: { hconcat: [point, { vconcat: [point, { mark: 'bar', encoding: { x, y } }] }] },
  selections: {
    params: [
      { name: 'limit', value: 10, bind: { input: 'range' } },
      { name: 'brush', select: 'interval', value: { x: [0, 30] } },
      { name: 'pick', select: { type: 'point', fields: ['group'] }, value: [{ group: 'a' }] },
      { name: 'zoom', select: 'interval', bind: 'scales' },
    ],
    mark: { type: 'point', tooltip: { expr: 'limit + 2' } },
    encoding: {
      ...point.encoding,
      color: { condition: { param: 'brush', value: 'red' }, value: 'grey' },
      size: { condition: { param: 'pick', value: 200 }, value: 20 },
      opacity: { condition: { test: 'datum.amount > limit', value: 1 }, value: 0.3 },
    },
  },
  gradient: {
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
    encoding: { x: time, y },
  },
  graticule: { data: { graticule: true }, projection: { type: 'naturalEarth1' }, mark: 'geoshape' },
  map: {
    projection: { type: 'mercator' },
    mark: 'circle',
    encoding: { longitude: { field: 'lon', type: 'quantitative' }, latitude: { field: 'lat', type: 'quantitative' } },
  },
  table: { data: { values: 'group,amount\na,1\n"b, c",2\n', format: { type: 'csv' } }, mark: 'bar', encoding: { x, y } },
  aggregate: transformed(
    [
      {
        aggregate: [
          { op: 'mean', field: 'amount', as: 'm' },
          { op: 'count', as: 'n' },
        ],
        groupby: ['group'],
      },
    ],
    'm',
  ),
  joinaggregate: transformed([{ joinaggregate: [{ op: 'sum', field: 'amount', as: 't' }], groupby: ['sub'] }], 't'),
  window: transformed(
    [
      {
        window: [
          { op: 'rank', as: 'r' },
          { op: 'sum', field: 'amount', as: 's' },
        ],
        sort: [{ field: 'amount' }],
        groupby: ['sub'],
      },
    ],
    's',
  ),
  stack: transformed([{ stack: 'amount', groupby: ['sub'], as: ['low', 'high'], sort: [{ field: 'at' }] }], 'high'),
  fold: transformed([{ fold: ['amount', 'lat'], as: ['kind', 'v'] }], 'v'),
  flatten: transformed(
    [
      { calculate: '[datum.amount, datum.lat]', as: 'both' },
      { flatten: ['both'], as: ['v'] },
    ],
    'v',
  ),
  pivot: transformed([{ pivot: 'sub', value: 'amount', groupby: ['group'] }], 'p'),
  impute: transformed([{ impute: 'amount', key: 'at', groupby: ['sub'], value: 0 }], 'amount'),
  lookup: transformed(
    [
      {
        lookup: 'sub',
        from: {
          data: {
            values: [
              { key: 'p', w: 3 },
              { key: 'q', w: 9 },
            ],
          },
          key: 'key',
          fields: ['w'],
        },
      },
    ],
    'w',
  ),
  density: {
    transform: [{ density: 'amount', bandwidth: 8 }],
    mark: 'area',
    encoding: { x: { field: 'value', type: 'quantitative' }, y: { field: 'density', type: 'quantitative' } },
  },
  regression: transformed([{ regression: 'amount', on: 'lat' }], 'amount'),
  loess: { transform: [{ loess: 'amount', on: 'lat' }], ...point },
  quantile: {
    transform: [{ quantile: 'amount' }],
    mark: 'point',
    encoding: { x: { field: 'prob', type: 'quantitative' }, y: { field: 'value', type: 'quantitative' } },
  },
  bins: transformed(
    [
      { bin: true, field: 'amount', as: 'binned' },
      { timeUnit: 'year', field: 'at', as: 'year' },
    ],
    'binned',
  ),
  filter: transformed(
    [
      {
        filter: {
          or: [
            { field: 'amount', gt: 5 },
            { field: 'sub', oneOf: ['q'] },
          ],
        },
      },
      { sample: 100 },
    ],
    'amount',
  ),
  calculate: transformed([{ calculate: 'merge(datum, {k: rgb("red").r}).k + length(data("source_0"))', as: 'c' }], 'c'),
}
