import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'

interface Blocks {
  folder: string
  /** Markdown: `sh` blocks are run, a block of `text output` after one is what it prints. */
  readme: string
  environment: Record<string, string>
}

/** Time limit of a block, and of output that a command in the background prints later. */
const limitMs = 60_000
const laterMs = 10_000
/** The line that follows what the commands of a block print. */
const endLine = '=end=\n'

/** Runs the blocks in one shell. Returns the number of blocks. Processes in the background are killed when the test ends. */
export async function runBlocks(t: TestContext, { folder, readme, environment }: Blocks): Promise<number> {
  const blocks = [...readme.matchAll(/^```(sh|text output)\n(.*?)^```$/gms)].map(([, kind, text]) => ({ kind, text: text! }))
  const shell = startShell(t, folder, environment)
  for (const [index, { kind, text }] of blocks.entries()) {
    if (kind === 'sh') await shell.run(text)
    else {
      assert.equal(blocks[index - 1]?.kind, 'sh', 'output follows a command')
      await shell.prints(text)
    }
  }
  return blocks.length
}

function startShell(t: TestContext, folder: string, environment: Record<string, string>) {
  const PATH = `${path.dirname(process.execPath)}:${process.env['PATH']}`
  const env = { PATH, HOME: path.dirname(folder), npm_config_update_notifier: 'false', ...environment }
  const bash = spawn('bash', ['--noprofile', '--norc'], { cwd: folder, env, detached: true, stdio: ['pipe', 'pipe', 'inherit'] })
  const closed = once(bash, 'close')
  t.after(async () => {
    // Negative: the shell and its processes in the background.
    if (bash.exitCode === null) process.kill(-bash.pid!, 'SIGKILL')
    await closed
  })
  let output = ''
  bash.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  bash.stdin.write('exec 2>&1; set -e -o pipefail\n')

  async function until(isReached: () => boolean, timeoutMs: number): Promise<boolean> {
    for (const end = Date.now() + timeoutMs; Date.now() < end; await wait(20)) {
      if (isReached()) return true
      if (bash.exitCode !== null || bash.signalCode !== null) return false
    }
    return isReached()
  }

  return {
    async run(text: string): Promise<void> {
      output = ''
      bash.stdin.write(`${text}\nprintf '%s\\n' '${endLine.trim()}'\n`)
      // A command in the background may print after the end.
      const isDone = await until(() => output.includes(endLine), limitMs)
      assert.ok(isDone, `The commands\n${text}failed or did not end:\n${output}`)
      output = output.replace(endLine, '')
    },
    async prints(expected: string): Promise<void> {
      const pattern = toPattern(expected)
      if (await until(() => pattern.test(output), laterMs)) return
      assert.equal(output, expected, 'the page shows what the commands print')
    },
  }
}

/** `...` stands for any text of a line; a line of its own for any lines. */
function toPattern(expected: string): RegExp {
  const lines = expected.trimEnd().split('\n')
  const patterns = lines.map((line) =>
    line.trim() === '...' ? '[^]*' : line.trimEnd().split('...').map(RegExp.escape).join('.*') + '\\s*',
  )
  return new RegExp(`^\\s*${patterns.join('\\n')}\\s*$`)
}
