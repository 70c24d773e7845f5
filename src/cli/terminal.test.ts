import assert from 'node:assert/strict'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { packageRoot } from '../package-root.ts'
import { findOwnCommand, withOwnCommand } from './terminal.ts'
import { createFolder } from './terminal-fixture.ts'

const program = path.join(packageRoot, 'bin/agent-core.mjs')

test('the command of a global installation is the name of the program', () => {
  const invocation = { script: '/usr/local/bin/agent-core', cwd: '/srv/agent', searchPath: '/usr/bin:/usr/local/bin' }
  assert.equal(findOwnCommand(invocation), 'agent-core')
  assert.equal(findOwnCommand({ ...invocation, searchPath: '/usr/bin' }), '/usr/local/bin/agent-core')
  assert.equal(findOwnCommand({ ...invocation, searchPath: undefined }), '/usr/local/bin/agent-core')
})

test('a checkout and its folders use npx, which must not fetch a package', () => {
  for (const cwd of [packageRoot, path.join(packageRoot, 'deploy')])
    assert.equal(findOwnCommand({ script: program, cwd, searchPath: '/usr/bin' }), 'npx --no-install agent-core')
})

test('a folder uses npx only if the package is installed there', async (t) => {
  const folder = await createFolder(t)
  const script = path.join(folder, 'node_modules/.bin/agent-core')
  const searchPath = `${path.dirname(script)}:/usr/bin`
  await mkdir(path.join(folder, 'node_modules'))
  await mkdir(path.join(folder, 'below'))
  assert.equal(findOwnCommand({ script: program, cwd: folder, searchPath }), `node ${program}`)
  await symlink(packageRoot, path.join(folder, 'node_modules/agent-core'))
  assert.equal(findOwnCommand({ script, cwd: folder, searchPath }), 'npx --no-install agent-core')
  assert.equal(findOwnCommand({ script, cwd: path.join(folder, 'below'), searchPath }), 'npx --no-install agent-core')
  await writeFile(path.join(folder, 'below/package.json'), '{}')
  assert.equal(findOwnCommand({ script, cwd: path.join(folder, 'below'), searchPath }), script)
})

test('quoted commands in messages get the command of the user', () => {
  const text = 'agent-core stops: run "agent-core serve --init", or "agent-core" alone.'
  assert.equal(withOwnCommand(text, 'npx x'), 'agent-core stops: run "npx x serve --init", or "agent-core" alone.')
})
