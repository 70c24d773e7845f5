import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { createFolder } from '../terminal-fixture.ts'
import { saveFiles } from './conversation.ts'

function file(name: string) {
  return { artifact_id: name, file_name: name, file_type: 'text/plain', size: 1, sha256: '', tool: 'write_file', created_at: '' }
}

test('files stay in their folder, and no file overwrites another', async (t) => {
  const cwd = await createFolder(t)
  const folder = path.join(cwd, 'files')
  const client = { content: async (id: string) => Buffer.from(id) }
  const names = ['note.txt', 'note.txt', '../../note.txt', '..', '..\\x.txt', 'a\u0007b']
  const lines = await saveFiles(names.map(file), { client, folder, cwd })
  const saved = ['note.txt', 'note-2.txt', 'note-3.txt', 'file', 'x.txt', 'ab']
  assert.deepEqual(
    lines,
    saved.map((name) => `Saved files/${name}`),
  )
  assert.deepEqual(new Set(await readdir(folder)), new Set(saved))
  assert.equal(await readFile(path.join(folder, 'note-3.txt'), 'utf8'), '../../note.txt')
  assert.deepEqual(await readdir(cwd), ['files'])
})

test('a file that cannot be read is named with the reason, and the others are saved', async (t) => {
  const cwd = await createFolder(t)
  const content = async (id: string) => (id === 'b' ? Promise.reject(new Error('not permitted')) : Buffer.from(id))
  const lines = await saveFiles(['a', 'b', 'c'].map(file), { client: { content }, folder: cwd, cwd })
  assert.deepEqual(lines, ['Saved a', 'The file b was not saved: not permitted', 'Saved c'])
})
