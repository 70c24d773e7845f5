import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Block } from './block.ts'
import { compareJson } from './compare-json.ts'
import { compareText } from './compare-text.ts'
import { checkout, type Workspace } from './folder.ts'
import { mergeYaml } from './merge-yaml.ts'
import type { Needs } from './needs.ts'
import type { Page } from './page.ts'
import { mapPorts, mapServicePort } from './ports.ts'
import { startSampleService, type SampleService } from './sample-service.ts'
import { startShell, type CommandResult, type Shell } from './shell.ts'
import { checkSyntax } from './syntax.ts'

export interface Fault {
  line: number
  /** What is wrong, in one line. */
  message: string
  /** What was run, expected and received. */
  details: Record<string, string>
}

export interface PageResult {
  page: string
  run: number
  compared: number
  written: number
  parsed: number
  skipped: { line: number; reason: string }[]
  faults: Fault[]
  seconds: number
}

/** Surroundings of the pages of one invocation. */
export interface Surroundings {
  workspace: Workspace
  needs: Needs
}

/** Parts of a page while its blocks are executed. */
interface Stage {
  folder: string
  shell: Shell
  service: SampleService | undefined
  /** Replaces the ports of the documentation by those of this run. */
  localise(text: string): string
  /** Commands that an output may follow; `skipped` for commands that were not run. */
  last: { block: Block; result: CommandResult } | 'skipped' | undefined
}

const limitMs = 60_000

/** A fault after which the rest of the page makes no sense. */
class EndOfPage extends Error {}

/** Executes the blocks of a page in their order. A failing command ends the page, any other fault does not. */
export async function runPage(page: Page, surroundings: Surroundings): Promise<PageResult> {
  const startedAt = performance.now()
  const result: PageResult = { page: page.name, run: 0, compared: 0, written: 0, parsed: 0, skipped: [], faults: [], seconds: 0 }
  const stage = page.blocks.every(({ action }) => action === 'parse' || action === 'check') ? undefined : await open(page, surroundings)
  try {
    for (const block of page.blocks) {
      if (block.skip) result.skipped.push({ line: block.line, reason: block.skip })
      await executeBlock(block, stage, result)
    }
  } catch (error) {
    if (!(error instanceof EndOfPage)) throw error
  } finally {
    stage?.shell.end()
    await stage?.service?.end()
  }
  result.seconds = (performance.now() - startedAt) / 1000
  return result
}

async function open(page: Page, { workspace, needs }: Surroundings): Promise<Stage> {
  const folder = await workspace.createFolder(page.name)
  const parts = await needs.prepare(page.needs)
  const expand = (value: string) => value.replace(/\$\{(\w+)\}/g, (text, name: string) => parts[name] ?? text)
  const mapOthers = await mapPorts([...page.blocks.map(({ content }) => content), ...Object.values(page.environment)])
  const own = Object.fromEntries(Object.entries(page.environment).map(([name, value]) => [name, mapOthers(expand(value))]))
  const environment = { PATH: `${workspace.commands}:${process.env['PATH']}`, HOME: folder, LANG: 'C.UTF-8', ...parts, ...own }
  const service = page.needsService ? await startSampleService(folder, environment) : undefined
  const port = service?.port ?? '8080'
  const shell = await startShell(folder, { ...environment, PORT: port, CHECKOUT: checkout })
  return { folder, shell, service, localise: (text) => mapServicePort(mapOthers(text), port), last: undefined }
}

async function executeBlock(block: Block, stage: Stage | undefined, result: PageResult): Promise<void> {
  const isRunnable = block.action === 'run' || block.action === 'compare'
  if (stage && block.action === 'run') await runBlock(block, stage, result)
  else if (stage && block.action === 'compare') compareBlock(block, stage, result)
  else if (stage && block.file && !block.skip) await writeBlock(block, stage, result)
  else if (block.action === 'parse') result.parsed++
  if (block.action !== 'run')
    await checkSyntax(block).catch((error: unknown) => addFault(result, block, `does not parse: ${messageOf(error)}`))
  // An output belongs to the commands directly before it.
  if (stage && !isRunnable) stage.last = block.skip ? 'skipped' : undefined
}

async function runBlock(block: Block, stage: Stage, result: PageResult): Promise<void> {
  const ran = await stage.shell.run(stage.localise(block.content), limitMs)
  await stage.service?.followChanges()
  stage.last = { block, result: ran }
  result.run++
  const hasFailed = ran.status !== 0
  if (typeof ran.status === 'number' && hasFailed === block.mustFail) return
  const message = describeStatus(ran.status, block)
  addFault(result, block, message, { ran: block.content, got: ran.output, service: stage.service?.output().slice(-2000) ?? '' })
  throw new EndOfPage()
}

function describeStatus(status: CommandResult['status'], { mustFail }: Block): string {
  if (status === 'timeout') return `the commands ran longer than ${limitMs / 1000} s`
  if (status === 'exited') return 'the commands ended the shell'
  return mustFail ? 'no command failed, although the block says `fails`' : `a command failed with status ${status}`
}

function compareBlock(block: Block, stage: Stage, result: PageResult): void {
  if (stage.last === 'skipped') return void result.parsed++
  if (!stage.last) return addFault(result, block, 'the output follows no commands')
  const { block: source, result: ran } = stage.last
  const expected = stage.localise(block.content)
  const differences = block.language === 'json' ? compareJson(expected, ran.output) : compareText(expected, ran.output)
  result.compared++
  if (differences.length === 0) return
  addFault(result, block, differences[0]!, {
    ran: source.content,
    expected: block.content,
    got: ran.output,
    differences: differences.slice(1).join('\n'),
  })
}

async function writeBlock(block: Block, stage: Stage, result: PageResult): Promise<void> {
  const target = path.join(stage.folder, block.file!)
  const content = `${stage.localise(block.content)}\n`
  try {
    await mkdir(path.dirname(target), { recursive: true })
    await writeFile(target, block.action === 'merge' ? mergeYaml(await readFile(target, 'utf8'), content) : content)
  } catch (error) {
    return addFault(result, block, `${block.file} was not written: ${messageOf(error)}`)
  }
  await stage.service?.followChanges()
  result.written++
}

function addFault(result: PageResult, { line }: Block, message: string, details: Record<string, string> = {}): void {
  result.faults.push({ line, message, details })
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))
