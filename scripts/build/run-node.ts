import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** Runs a script of Node. Throws an error with its output when it fails. `name` is the subject of the message. */
export async function runNode(folder: string, name: string, args: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`${name} failed:\n${output.trim()}`)
}
