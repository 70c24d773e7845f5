import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import type { ArtifactBytes } from './artifact-bytes.ts'
import { directFolderOf, sweepArtifacts } from './sweep.ts'

test('folders of sessions that are gone and old ones of direct executions are removed, young ones stay', async () => {
  const hour = 3_600_000
  const now = 100 * hour
  const many = Array.from({ length: 450 }, (_, at) => ({ name: `gone-${at}`, changedAt: 0 }))
  const folders = [
    { name: 'there', changedAt: 0 },
    { name: 'young', changedAt: now - hour / 2 },
    { name: directFolderOf('old'), changedAt: now - 25 * hour },
    { name: directFolderOf('new'), changedAt: now - 23 * hour },
    ...many,
  ]
  const deleted: string[] = []
  const asked: number[] = []
  const bytes = {
    folders: () => Readable.from(folders),
    deleteAll: async (name) => void deleted.push(name),
  } as Partial<ArtifactBytes> as ArtifactBytes
  const existing = async (keys: readonly string[]) => {
    asked.push(keys.length)
    return new Set(keys.filter((key) => key === 'there'))
  }
  assert.equal(await sweepArtifacts({ bytes, existing, now: () => now }), 451)
  assert.deepEqual(deleted.sort(), ['direct-old', ...many.map(({ name }) => name)].sort())
  assert.ok(asked.every((count) => count <= 200))
})
