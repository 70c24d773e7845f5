import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { ToolContext } from '../../agent/tool.ts'
import type { Artifact } from '../../agent/messages.ts'
import { contextOf } from '../../agent/react-fixture.ts'
import { openFilesRoot } from '../../files/root.ts'
import type { ToolBuild } from '../builder.ts'
import { dependenciesOf } from '../dependencies-fixture.ts'
import type { AnswerLimits } from './messages.ts'
import { createRunPython, type RunPythonOptions } from './run-python.ts'

export interface Outcome {
  result?: unknown
  stdout?: string
  stderr?: string
  files?: string[]
  note?: string
}

export interface PythonFixture {
  folder: string
  /** Runs code in a conversation. Files written by the code are in `artifacts`. */
  run(code: string, traits?: Partial<ToolContext>): Promise<Outcome>
  artifacts: Map<string, Buffer>
  /** Builds another tool over the same folders. */
  build(config?: Record<string, unknown>, options?: RunPythonOptions & { timeoutMs?: number; maxOutputCharacters?: number }): ToolBuild
  close(): Promise<void>
}

/** Shared by all tests, because making a snapshot takes seconds. */
export const testCacheDir = path.join(import.meta.dirname, '../../../node_modules/.cache/agent-core-test')

/** The usual size limits of answers. */
export const testAnswers: AnswerLimits = { maxCharacters: 10_000, written: { files: 20, bytes: 50 * 1024 * 1024 } }

/** Writes `files` into a files root and builds a tool with `config`. */
export async function preparePython(files: Record<string, string> = {}, config: Record<string, unknown> = {}): Promise<PythonFixture> {
  const base = await mkdtemp(path.join(tmpdir(), 'python-'))
  const root = path.join(base, 'files')
  await mkdir(root)
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(root, name)), { recursive: true })
    await writeFile(path.join(root, name), text)
  }
  const deps = dependenciesOf({ files: await openFilesRoot(root), cacheDir: testCacheDir })
  const builds: ToolBuild[] = []

  const build: PythonFixture['build'] = (config = {}, { timeoutMs = 30_000, maxOutputCharacters = 20_000, ...options } = {}) => {
    const toolBuild = createRunPython({ name: 'run_python', timeoutMs, maxOutputCharacters, config }, deps, {
      prepareMs: 3_600_000,
      ...options,
    })
    builds.push(toolBuild)
    return toolBuild
  }

  const { tool } = build(config, { spareDelayMs: 3_600_000 })
  const artifacts = new Map<string, Buffer>()
  return {
    folder: root,
    artifacts,
    build,
    run: async (code, traits) => (await tool.execute({ code }, contextOf({ artifact: saveTo(artifacts), ...traits }))) as Outcome,
    async close() {
      await Promise.all(builds.map(async ({ close }) => close?.()))
      await rm(base, { recursive: true, force: true })
    },
  }
}

export function saveTo(artifacts: Map<string, Buffer>) {
  return async (name: string, type: string, bytes: Uint8Array): Promise<Artifact> => {
    artifacts.set(name, Buffer.from(bytes))
    return { id: name, name, type, size: bytes.length, sha256: '', tool: 'run_python', createdAt: 0 }
  }
}
