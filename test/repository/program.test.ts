import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { program as measured } from '../../bench/service.ts'
import { installed } from '../fixtures/process.ts'

const { scripts, version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8')) as {
  scripts: { start: string }
  version: string
}

test('the program is started with the same flags by its first line, by npm start and by the benchmark', async () => {
  const [firstLine = ''] = (await readFile(installed, 'utf8')).split('\n')
  const [, flags = ''] = /^#!\/usr\/bin\/env -S node (.+)$/.exec(firstLine) ?? []
  assert.match(flags, /^--max-semi-space-size=\d+$/)
  assert.ok(scripts.start.startsWith(`node ${flags} bin/`), scripts.start)
  assert.deepEqual(measured, [flags, installed])
})

test('the first line of the program starts the program', { skip: process.platform === 'win32' }, async () => {
  const { stdout } = await promisify(execFile)(installed, ['--version'])
  assert.ok(stdout.includes(version), stdout)
})
