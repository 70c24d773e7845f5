import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unsyncedWrites } from './power-loss.ts'

const write = (offset: number, file = 'a.db-wal') => `7  pwrite64(25</d/${file}>, ""..., 24, ${offset}) = 24`

test('a sync covers the writes to its file before its start', () => {
  const offsets = (...lines: string[]) => unsyncedWrites(lines.join('\n')).map(({ file, offset }) => `${file} ${offset}`)
  assert.deepEqual(offsets(write(0), write(24)), ['/d/a.db-wal 0', '/d/a.db-wal 24'])
  assert.deepEqual(offsets(write(0), '8  fdatasync(30</d/a.db-wal>) = 0', write(24)), ['/d/a.db-wal 24'])
  assert.deepEqual(offsets(write(0), write(0, 'a.db'), '7  fsync(3</d/a.db>) = 0'), ['/d/a.db-wal 0'])
  assert.deepEqual(offsets(write(0), '8  fdatasync(30</d/a.db-wal>) = -1 EIO (Input/output error) (INJECTED)'), ['/d/a.db-wal 0'])
  const begun = '8  fdatasync(30</d/a.db-wal> <unfinished ...>'
  assert.deepEqual(offsets(write(0), begun, write(24)), ['/d/a.db-wal 0', '/d/a.db-wal 24'])
  assert.deepEqual(offsets(write(0), begun, write(24), '8  <... fdatasync resumed>) = 0'), ['/d/a.db-wal 24'])
})
