import { mkdtemp, readFile, rm, statfs, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'
import { pins, start, type Part } from './processes.ts'

const toProgram = (file: string) => ['--max-semi-space-size=16', fileURLToPath(new URL(file, import.meta.url))]

/** The built program, with the flag of its first line; and the program from its sources, whose functions have files of their own. */
export const program = toProgram('../bin/agent-core.mjs')
export const sources = toProgram('../scripts/sources.mjs')

export interface StartedService {
  part: Part
  port: number
  /** Access key with all permissions. */
  key: string
}

/** Creates a folder on a real disk, because a commit to a file system in memory costs nothing. */
export async function makeFolder(): Promise<{ folder: string; remove(): Promise<void> }> {
  const isMemory = (await statfs(tmpdir())).type === tmpfs
  const folder = await mkdtemp(path.join(isMemory ? '/var/tmp' : tmpdir(), 'agent-core-bench-'))
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) }
}

const tmpfs = 0x01021994

/** A tool of the operator, whose file `writeAgent` writes. */
export const moduleTool = { name: 'current_time', type: 'module', config: { path: 'time.ts' } }

const moduleText = `export default {
  description: 'Returns the time.',
  effect: 'read',
  schema: { type: 'object', properties: {} },
  execute: async (): Promise<object> => ({ now: new Date().toISOString() }),
}
`

/** Writes the configuration of an agent with the scripted model. `extraConfig` holds further top-level fields. */
export async function writeAgent(folder: string, modelPort: number, tools: string[], extraConfig: object = {}): Promise<void> {
  const primary = { provider: 'openai-compatible', model: 'bench', base_url: `http://127.0.0.1:${modelPort}/v1` }
  const config = { llms: { primary }, tools: tools.map((name) => ({ name })), ...extraConfig }
  // JSON is valid YAML.
  await writeFile(path.join(folder, 'agent.yaml'), JSON.stringify(config))
  await writeFile(path.join(folder, moduleTool.config.path), moduleText)
}

/** Environment that puts all files of the service into `folder`. */
export function settingsOf(folder: string): Record<string, string> {
  return {
    DATA_DIR: path.join(folder, 'data'),
    AGENT_CONFIG: path.join(folder, 'agent.yaml'),
    FILES_ROOT: path.join(folder, 'files'),
  }
}

export interface ServiceOptions {
  /** Core of the process; the core `measured` by default. */
  core?: string | undefined
  /** Environment variables in addition to `settingsOf`. */
  env?: NodeJS.ProcessEnv
  /** Default: the built program. */
  args?: readonly string[]
}

/** Starts the service with its data in `folder`, and with the default logging and commit settings. */
export async function startService(
  folder: string,
  { core = pins?.measured, env: extraEnv, args = program }: ServiceOptions = {},
): Promise<StartedService> {
  const port = await freePort()
  const env = {
    PORT: String(port),
    ...settingsOf(folder),
    ...extraEnv,
  }
  const part = await start('service', [...args, 'serve', '--init'], { core, env, cwd: folder, logFile: path.join(folder, 'log') })
  await untilOk(`http://127.0.0.1:${port}/health`, {}, folder)
  const key = (await readFile(path.join(folder, 'data', 'admin.key'), 'utf8')).trim()
  return { part, port, key }
}

/** Resolves when all tools have been initialized. */
export async function untilToolsReady({ port, key }: StartedService): Promise<void> {
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/core/v1/tools`, { headers: { 'x-service-access': key } })
    if (!(await answer.text()).includes('"initializing"')) return
    await sleep(pollMs)
  }
}

const pollMs = 5
const startTimeoutMs = 20_000

async function untilOk(url: string, init: RequestInit, folder: string): Promise<void> {
  const until = performance.now() + startTimeoutMs
  for (;;) {
    const answer = await fetch(url, init).catch(() => undefined)
    await answer?.arrayBuffer()
    if (answer?.ok) return
    if (performance.now() > until) throw new Error(`The service did not start:\n${await readFile(path.join(folder, 'log'), 'utf8')}`)
    await sleep(pollMs)
  }
}

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
