import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parse } from 'yaml'
import { checkout } from './folder.ts'
import { endGroup, ownGroup } from './processes.ts'

export interface SampleService {
  port: string
  /** Waits until a change of agent.yaml since the last call is in use, or refused. */
  followChanges(): Promise<void>
  output(): string
  end(): Promise<void>
}

/** A changed file is read again after some hundred milliseconds, longer on a busy machine. */
const followMs = 8000
const pollMs = 20

/** Starts `agent-core serve --init` in a folder, on a free port. Throws with the output when the service ends before it listens. */
export async function startSampleService(folder: string, environment: Record<string, string>): Promise<SampleService> {
  const service = spawn(process.execPath, [path.join(checkout, 'bin/agent-core.mjs'), 'serve', '--init'], {
    cwd: folder,
    env: { ...environment, PORT: '0', LOG_FORMAT: 'json' },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  ownGroup(service)
  const ended = once(service, 'exit')
  let output = ''
  for (const stream of [service.stdout, service.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  const readPort = () => /listens on http:\/\/\S+:(\d+)[\s\S]*Read more/.exec(output)?.[1]
  while (!readPort()) {
    if (service.exitCode !== null) throw new Error(`The service of the page did not start:\n${output}`)
    await sleep(pollMs)
  }
  const file = path.join(folder, 'agent.yaml')
  const countChanges = () => output.split(/"msg":"(?:agent\.yaml was edited|The configuration was changed)/).length
  let [configuration, changes] = [await readContent(file), countChanges()]

  async function followChanges(): Promise<void> {
    const content = await readContent(file)
    const until = performance.now() + followMs
    while (content !== configuration && countChanges() === changes && performance.now() < until) await sleep(pollMs)
    configuration = content
    changes = countChanges()
  }

  return {
    port: readPort()!,
    followChanges,
    output: () => output,
    async end() {
      // Nothing of the folder is kept, so the service need not finish its work.
      endGroup(service.pid)
      await ended
    },
  }
}

/** Content without comments and spacing: the service follows changes of the content alone. */
async function readContent(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => '')
  try {
    return JSON.stringify(parse(text))
  } catch {
    return text
  }
}
