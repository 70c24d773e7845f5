import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { createFolder, runIn } from './terminal-fixture.ts'

const good = '---\nname: refunds\ndescription: Handles refunds.\nallowed-tools: calculator Bash(git:*)\n---\nDo it.\n'

async function projectOf(t: TestContext, files: Record<string, string>): Promise<string> {
  const folder = await createFolder(t)
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true })
    await writeFile(path.join(folder, name), text)
  }
  return folder
}

const agentYaml = 'skills: [{path: skills/*}]\ntools: [{name: calculator}]\n'

test('the skills of agent.yaml are listed, with a warning for each name that is no tool', async (t) => {
  const folder = await projectOf(t, { 'agent.yaml': agentYaml, 'skills/refunds/SKILL.md': good })
  const { code, out, err } = await runIn(folder, ['skill', 'check'])
  assert.deepEqual([code, err], [0, ''])
  assert.match(
    out,
    /^warning: skills\[refunds\]: allowed-tools names "Bash\(git:\*\)", which is no tool of agent\.yaml and allows nothing\n/,
  )
  assert.match(out, /\nok:  refunds  1 file  sha256 [0-9a-f]{12}  allows calculator Bash\(git:\*\)\n$/)
})

test('each fault is a line with file and line, and the command fails', async (t) => {
  const files = {
    'agent.yaml': agentYaml,
    'skills/refunds/SKILL.md': good,
    'skills/bad/SKILL.md': '---\nname: Bad\n---\nx\n',
    'skills/none/x': '',
  }
  const folder = await projectOf(t, files)
  const expected = [
    'skills/bad/SKILL.md:2 name: must be lower-case letters, digits and single hyphens between them',
    'skills/bad/SKILL.md:2 description: is required but missing',
    'skills/none: has no SKILL.md',
  ]
  for (const args of [[], ['skills']]) {
    const { code, out, err } = await runIn(folder, ['skill', 'check', ...args])
    assert.deepEqual([code, err.trimEnd().split('\n')], [1, expected])
    assert.match(out, /ok:  refunds/)
  }
  const { err } = await runIn(folder, ['config', 'check'])
  assert.deepEqual(
    err.trimEnd().split('\n'),
    expected.map((line) => `agent.yaml:1 skills: ${line}`),
  )
})

test('a folder, or its SKILL.md, is checked without agent.yaml', async (t) => {
  const folder = await projectOf(t, { 'refunds/SKILL.md': good, 'refunds/scripts/x.py': 'print(1)' })
  for (const place of ['refunds', './refunds/', 'refunds/SKILL.md', path.join(folder, 'refunds')]) {
    const { code, out } = await runIn(folder, ['skill', 'check', place])
    assert.deepEqual([code, out.startsWith('ok:  refunds  2 files')], [0, true], out)
  }
  assert.deepEqual(await runIn(path.join(folder, 'refunds'), ['skill', 'check', '.']).then(({ code }) => code), 0)
  const missing = await runIn(folder, ['skill', 'check', 'absent'])
  assert.deepEqual([missing.code, missing.err], [1, 'absent: is not a folder that can be read\n'])
  assert.equal((await runIn(folder, ['skill', 'check'])).code, 1)
})

test('doctor names the usable skills, and fails for the others', async (t) => {
  const folder = await projectOf(t, { 'agent.yaml': agentYaml, 'skills/refunds/SKILL.md': good, 'skills/bad/SKILL.md': 'No.' })
  const { out } = await runIn(folder, ['doctor'])
  assert.match(out, /ok {4}skills: refunds\n/)
  assert.match(out, /warn {2}skills: skills\[refunds\]: allowed-tools names "Bash/)
  assert.match(out, /fail {2}skills: skills\/bad\/SKILL\.md:1 must begin with front matter[^\n]*\n {6}Correct the folder/)
})
