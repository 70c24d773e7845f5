import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { env, execPath } from 'node:process'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { pino } from 'pino'
import { contextOf } from '../../agent/react-fixture.ts'
import type { JsonObject } from '../../agent/messages.ts'
import { type Tool, type ToolContext } from '../../agent/tool.ts'
import { runTool, type ToolOutcome } from '../../agent/run-tool.ts'
import type { LoginStore } from '../../configuration/mcp/login-store.ts'
import type { PinStore } from '../../configuration/mcp/pin-store.ts'
import { openFilesRoot } from '../../files/root.ts'
import type { Outbound, ToolDependencies, ToolGroup, ToolSpec } from '../builder.ts'
import { dependenciesOf } from '../dependencies-fixture.ts'
import type { Timing } from './connection.ts'
import { createMcp } from './mcp.ts'

const rawServer = fileURLToPath(new URL('../../../test/fixtures/raw-mcp-server.ts', import.meta.url))

/** The command of a reference server. */
export function referenceServer(name: 'everything' | 'filesystem' | 'memory', ...args: string[]) {
  const file = fileURLToPath(import.meta.resolve(`@modelcontextprotocol/server-${name}/dist/index.js`))
  return { command: execPath, args: [file, ...args] }
}

export interface TestServer {
  group: ToolGroup
  folder: string
  /** Logged lines. */
  log: string[]
  tool(name: string): Tool
  call(name: string, input?: JsonObject, options?: CallOptions): Promise<ToolOutcome>
}

interface CallOptions {
  signal?: AbortSignal
  context?: Partial<ToolContext>
  files?: { name: string; type: string; bytes: Uint8Array }[]
}

const fast: Timing = { retryMs: () => 50, pollMs: 100, listMs: 5000, loginMs: 50 }

export interface ServerOptions extends Partial<Omit<ToolSpec, 'config'>> {
  config: ToolSpec['config']
  environment?: ToolDependencies['environment']
  folder?: string
  timing?: Partial<Timing>
  signal?: AbortSignal
  /** Outbound access, for servers at an address. */
  outbound?: Outbound
  /** Accepted definitions, shared by several servers; else each server has its own. */
  pins?: PinStore
  /** Logins, shared by several servers; else there are none. */
  logins?: LoginStore
}

/** The tools of a server, connected; closed when the test ends. */
export async function connectServer(t: TestContext, options: ServerOptions): Promise<TestServer> {
  const { config, environment = {}, timing, signal, outbound, pins, logins, folder: _, ...spec } = options
  const folder = options.folder ?? (await makeFolder(t))
  const log: string[] = []
  const group = await createMcp(
    { name: 's', timeoutMs: 10_000, maxOutputCharacters: 20_000, ...spec, config },
    {
      ...dependenciesOf({
        files: await openFilesRoot(folder),
        cacheDir: folder,
        ...(outbound && { outbound }),
        ...(signal && { signal }),
        ...(pins && { pins }),
        ...(logins && { logins }),
      }),
      environment: { PATH: env['PATH'], HOME: folder, ...environment },
      log: pino({ level: 'debug' }, { write: (line: string) => void log.push(line) }),
    },
    { ...fast, ...timing },
  )
  t.after(() => group.close?.())
  const tool = (name: string) => {
    const namedTool = group.tools().find((tool) => tool.name === `s__${name}`)
    if (!namedTool) throw new Error(`There is no tool ${name}.`)
    return namedTool
  }
  return {
    group,
    folder,
    log,
    tool,
    call: (name, input = {}, options = {}) => callTool(tool(name), input, options),
  }
}

export function callTool(tool: Tool, input: JsonObject, { signal, context, files = [] }: CallOptions = {}): Promise<ToolOutcome> {
  return runTool(tool, input, {
    context: contextOf(context),
    keepArtifact: async (file) => {
      files.push(file)
      return { ...file, id: `${files.length}`, size: file.bytes.length, sha256: '', createdAt: 0 }
    },
    signal: signal ?? new AbortController().signal,
    now: Date.now,
  })
}

/** The command of `raw-mcp-server.ts` with one of its faults, and a file for its notes. */
export function rawConfig(fault: string, notes = ''): { command: string; args: string[] } {
  return { command: execPath, args: [rawServer, fault, notes] }
}

export async function makeFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'mcp-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Waits until a condition is true; fails after 10 s. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 10_000; !(await isSo()); await sleep(20))
    if (Date.now() > end) throw new Error('The condition did not become true within 10 s.')
}
