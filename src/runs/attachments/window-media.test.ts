import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DataFilter } from '../../agent/tool.ts'
import type { FileReference } from '../../sessions/message.ts'
import type { HistoryMessage } from '../run-store.ts'
import { newestFiles } from './window-media.ts'

const pdf = (name: string, size = 1, tokens = 1): FileReference => ({ name, mediaType: 'application/pdf', size, tokens })
const song = (name: string): FileReference => ({ name, mediaType: 'audio/mpeg', size: 1, tokens: 1 })
const question = (idx: number, requestId: string, ...files: FileReference[]): HistoryMessage => ({
  idx,
  role: 'human',
  content: '?',
  data: { requestId, files },
})

function shown(history: HistoryMessage[], files: FileReference[] = [], { filters = [] as DataFilter[], imageBytes = 0 } = {}): string[] {
  const model = { readsFiles: (type: string) => type === 'application/pdf' }
  const places = newestFiles({ key: { requestId: 'now' }, request: { filters, files }, agent: { model } }, history, imageBytes)
  return places.map(({ requestId, n, file, isEarlier }) => `${isEarlier ? 'earlier ' : ''}${requestId} ${n} ${file.name}`)
}

test('files of the question come first, then the newest earlier ones up to five', () => {
  const history = [question(0, 'a', pdf('1'), pdf('2')), question(2, 'b', pdf('3'), pdf('4'), pdf('5')), question(4, 'now', pdf('6'))]
  assert.deepEqual(shown(history, [pdf('6')]), ['now 50 6', 'earlier b 50 3', 'earlier b 51 4', 'earlier b 52 5', 'earlier a 50 1'])
})

test('an earlier file that does not fit, or that the model does not read, is left out', () => {
  const history = [question(0, 'a', pdf('small'), song('song'), pdf('long', 1, 99_000)), question(2, 'b', pdf('large', 12_000_000))]
  assert.deepEqual(shown(history), ['earlier b 50 large', 'earlier a 50 small', 'earlier a 52 long'])
  assert.deepEqual(shown(history, [pdf('own', 10_000_000, 2000)]), ['now 50 own', 'earlier a 50 small'])
  assert.deepEqual(shown(history, [], { imageBytes: 10_000_000 }), ['earlier a 50 small', 'earlier a 52 long'])
  assert.deepEqual(shown(history, [song('own')])[0], 'now 50 own')
})

test('a run with data filter hints gets the files of its question only', () => {
  const filters: DataFilter[] = [{ tool: 'sales', key: 'region', type: 'equals', value: 'North' }]
  assert.deepEqual(shown([question(0, 'a', pdf('1'))], [pdf('own')], { filters }), ['now 50 own'])
})
