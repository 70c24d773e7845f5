import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { TestContext } from 'node:test'
import { contextOf } from '../../agent/react-fixture.ts'
import type { JsonObject } from '../../agent/messages.ts'
import type { Tool, ToolContext } from '../../agent/tool.ts'
import { openFilesRoot } from '../../files/root.ts'
import { createGuardedFetch } from '../../outbound/guarded-fetch.ts'
import type { ToolSpec } from '../builder.ts'
import { dependenciesOf } from '../dependencies-fixture.ts'
import { createOpenApi } from './openapi.ts'

interface Options {
  /** Written beside agent.yaml as `spec.yaml`. */
  document?: object | string
  config?: ToolSpec['config']
  spec?: Partial<ToolSpec>
  environment?: Record<string, string>
  /** Value of OUTBOUND_ALLOW. */
  allowed?: string[]
  everyMs?: number
  /** Folder of agent.yaml, when the folder exists already. */
  folder?: string
  /** Other files beside agent.yaml, by name. */
  files?: Record<string, object | string>
}

export interface Opened {
  folder: string
  tools(): readonly Tool[]
  /** Reasons of skipped operations, by operation id. */
  refused(): Record<string, string>
  tool(id: string): Tool
  /** Checks the input as the agent does, then runs the tool. */
  run(id: string, input: JsonObject, context?: Partial<ToolContext>): Promise<any>
}

/** The tools of an entry `api` over a real document and real connections; closed when the test ends. */
export async function openApi(t: TestContext, options: Options): Promise<Opened> {
  const folder = options.folder ?? (await mkdtemp(path.join(tmpdir(), 'openapi-')))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const { document, config = {}, environment = {}, allowed = [], spec, everyMs, files = {} } = options
  for (const [name, content] of Object.entries({ ...files, ...(document !== undefined && { 'spec.yaml': document }) }))
    await writeInto(folder, name, content)
  const outbound = createGuardedFetch({ allowed })
  t.after(() => outbound.close())
  const deps = dependenciesOf({ files: await openFilesRoot(folder), cacheDir: folder, configDir: folder, environment, outbound })
  const toolSpec = { name: 'api', timeoutMs: 5000, maxOutputCharacters: 4000, ...spec, config: { spec: 'spec.yaml', ...config } }
  const group = await createOpenApi(toolSpec, deps, everyMs)
  t.after(() => group.close?.())

  function tool(id: string): Tool {
    const namedTool = group.tools().find(({ name }) => name === `api__${id}`)
    if (!namedTool)
      throw new Error(
        `There is no api__${id}, only ${group
          .tools()
          .map(({ name }) => name)
          .join(', ')}.`,
      )
    return namedTool
  }

  async function run(id: string, input: JsonObject, context: Partial<ToolContext> = {}) {
    const namedTool = tool(id)
    const fault = await namedTool.check(input)
    if (fault !== undefined) throw new Error(fault)
    return namedTool.execute(input, contextOf({ callId: 'call-7', ...context }))
  }

  const refused = () => Object.fromEntries((group.refused?.() ?? []).map(({ name, reason }) => [name.slice('api__'.length), reason]))
  return { folder, tools: group.tools, refused, tool, run }
}

/** Writes a file and its folders: text, or a value as JSON. */
export async function writeInto(folder: string, name: string, content: object | string): Promise<void> {
  const file = path.join(folder, name)
  await mkdir(path.dirname(file), { recursive: true })
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content))
}

/** A document with one server and the given paths. */
export function documentOf(server: string | undefined, paths: object, extra: object = {}): object {
  const servers = server === undefined ? {} : { servers: [{ url: server }] }
  return { openapi: '3.0.3', info: { title: 'Orders', version: '1' }, ...servers, paths, ...extra }
}

/** An operation with the given parameters. */
export function operationOf(operationId: string, parameters: object[] = [], extra: object = {}): object {
  return { operationId, parameters, responses: { 200: { description: 'ok' } }, ...extra }
}
