import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { formatProblems, loadAgentConfig } from './load.ts'
import { ConfigError } from './problems.ts'

async function problemsOf(file: string): Promise<string[]> {
  return loadAgentConfig(file).then(
    () => [],
    (error: unknown) => {
      assert.ok(error instanceof ConfigError)
      return formatProblems(file, error)
    },
  )
}

test('a file is read, and faults are formatted with file, line and path', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'load-config-'))
  t.after(() => rm(folder, { recursive: true }))
  const file = path.join(folder, 'agent.yaml')
  await writeFile(file, 'id: mine\n')
  assert.equal((await loadAgentConfig(file)).id, 'mine')
  await writeFile(file, 'id: mine\ntools:\n  - {name: calculator}\n  - {name: x, type: abacus}\nmemory: {recall: a}\n')
  const problems = await problemsOf(file)
  assert.match(problems[0] ?? '', /^agent\.yaml:4 tools\[1\]\.type: "abacus" is not a known tool type; known types are calculator, /)
  assert.deepEqual(problems.slice(1), ['agent.yaml:5 memory.recall: must be a whole number, but is "a"'])
  await writeFile(file, 'id: [')
  assert.match((await problemsOf(file))[0] ?? '', /^agent\.yaml:1: is not valid YAML: /)
  assert.deepEqual(await problemsOf(path.join(folder, 'none.yaml')), [`none.yaml: ${folder}/none.yaml does not exist.`])
  assert.deepEqual(await problemsOf(folder), [`${path.basename(folder)}: ${folder} cannot be read (EISDIR).`])
})
