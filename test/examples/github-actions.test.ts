import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import { copyExample, exampleTest, makeCheckout, runReadme } from './example.ts'

const workflow = '.github/workflows/agent.yaml'

interface Step {
  name?: string
  uses?: string
  run?: string
}

exampleTest('github-actions: actions are pinned to commits, and the steps succeed', async (t) => {
  const folder = await copyExample(await makeCheckout(t), 'github-actions', {})
  const text = await readFile(path.join(folder, workflow), 'utf8')
  const { permissions, jobs } = parse(text) as { permissions: object; jobs: { check: { steps: Step[] } } }
  assert.deepEqual(permissions, { contents: 'read' })
  for (const [, action] of text.matchAll(/uses: (.+)/g)) assert.match(action!, /^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)

  const env = { PATH: `${path.dirname(process.execPath)}:${process.env['PATH']}`, HOME: folder }
  // The folder has its packages already: another test installs the package.
  const commands = jobs.check.steps.flatMap(({ run }) => (run === undefined || run === 'npm ci' ? [] : [run]))
  assert.equal(commands.length, 3)
  // GitHub runs a step with `bash -e`.
  for (const command of commands) await promisify(execFile)('bash', ['-e', '-c', command], { cwd: folder, env })
  await runReadme(t, folder)
})
