import { randomUUID } from 'node:crypto'
import { access, constants, readFile, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Client, Experiment, NewExperiment } from '../../../client/src/index.ts'
import { messageWithCause } from '../../errors.ts'
import { withoutControls } from '../chat/markdown-stream.ts'
import type { ServiceOptions } from '../running-service.ts'
import { addServiceCommand, ask } from '../service-command.ts'
import { CommandFailure, print, type Terminal, visible } from '../terminal.ts'
import { createCases } from './cases.ts'
import { toFinding, type Finding } from './findings.ts'
import { toRefusal } from './refusal.ts'
import { findShortfalls, type Requirements, toReport } from './report.ts'
import { follow } from './follow.ts'

const missPolicies = ['fail', 'error', 'live'] as const

interface RunOptions extends ServiceOptions, Requirements {
  dataset: string[]
  config?: string
  baseline?: string
  recorded?: true
  repetitions?: number
  onMiss?: (typeof missPolicies)[number]
  live?: string[]
  junit?: string
  json?: true
}

export function addRun(evaluation: Command, terminal: Terminal): void {
  addServiceCommand(
    evaluation,
    'run',
    'Replay the examples of datasets with a changed agent, and show the writes that the change would make.',
  )
    .requiredOption('--dataset <name...>', 'names or ids of datasets')
    .option('--config <file>', 'the candidate: a whole agent.yaml (default: only the baseline is replayed)')
    .option(
      '--baseline <version>',
      'a version of GET /core/v1/agent/config/history, or "recorded" for the recorded replies (default: the version in use)',
    )
    .addOption(
      new Option('--recorded', 'replay the recorded replies alone, without any model: checks the examples').conflicts([
        'config',
        'baseline',
      ]),
    )
    .option('--min-pass-rate <rate>', 'the share of examples that must pass, from 0 to 1', toRate, 0.95)
    .option('--max-added-writes <count>', 'the writes that the recordings do not have, or have with other arguments', toCount, 0)
    .option('--repetitions <count>', 'how often each example is replayed, from 1 to 10 (default: 1)', toCount)
    .addOption(new Option('--on-miss <policy>', 'what answers a read that was not recorded (default: fail)').choices(missPolicies))
    .option('--live <tool...>', 'tools that may read for --on-miss live')
    .option('--junit <file>', 'write a report in the format of JUnit')
    .option('--json', 'print the experiment and its findings as JSON')
    .addHelpText('after', `\n${exitText}`)
    .action((options: RunOptions) => run(options, terminal))
}

const exitText =
  'Exit codes: 0 the last variant passes, 1 it does not, 2 the experiment could not be run or was cancelled. Ctrl-C cancels the experiment.'

async function run(options: RunOptions, terminal: Terminal): Promise<void> {
  const draft = await toDraft(options, terminal)
  if (options.junit !== undefined) await prepareReport(path.resolve(terminal.cwd, options.junit))
  const ended = await orUnable(() => ask(terminal, options, (client, url) => replay(client, url, { options, draft, terminal })))
  const shortfalls = findShortfalls(ended.experiment, options)
  if (options.json) print(terminal, visibleJson({ passed: shortfalls.length === 0, shortfalls, ...ended }))
  else print(terminal, ...[...toReport(ended.experiment, ended.findings), '', ended.console_url].map(withoutControls))
  if (shortfalls.length > 0) throw new CommandFailure(1, [`failed: ${shortfalls.join('; ')}.`])
  if (!options.json) print(terminal, 'passed')
}

interface Ended {
  experiment: Experiment
  console_url: string
  findings: Finding[]
}

interface Replay {
  options: RunOptions
  draft: NewExperiment
  terminal: Terminal
}

const unknownName = '"agent-core eval list" shows the datasets, and GET /core/v1/agent/config/history the versions.'

/** Makes an experiment, waits for its end and reads its results. */
async function replay(client: Client, url: string, { options, draft, terminal }: Replay): Promise<Ended> {
  const created = await client.evals.experiments.create(draft, { requestId: randomUUID() }).catch((error: unknown) => {
    throw toRefusal(error, unknownName, options)
  })
  const consoleUrl = `${url}/console/evals/experiments/${created.id}`
  terminal.stderr.write(withoutControls(`Experiment ${created.id}: ${created.total} replays. ${consoleUrl}\n`))
  const experiment = await follow(client, created.id, terminal)
  const { id, status, error } = experiment
  if (status !== 'completed') throw new CommandFailure(2, [`Experiment ${id} is ${status}${error === null ? '.' : `: ${visible(error)}`}`])
  const cases = createCases(experiment)
  const findings: Finding[] = []
  for await (const result of client.evals.experiments.allResults(id, { limit: 100 }, { signal: terminal.stopping })) {
    const finding = toFinding(result)
    if (finding.writes.length + finding.faults.length > 0 || finding.divergence !== undefined) findings.push(finding)
    cases.add(result)
  }
  if (options.junit !== undefined) await writeFile(path.resolve(terminal.cwd, options.junit), cases.toXml())
  return { experiment, console_url: consoleUrl, findings }
}

/** Removes the report of an earlier command. Throws where none can be written. */
async function prepareReport(file: string): Promise<void> {
  try {
    await access(path.dirname(file), constants.W_OK)
    await rm(file, { force: true })
  } catch (error) {
    throw new CommandFailure(2, [`${file} cannot be written (${(error as NodeJS.ErrnoException).code}).`])
  }
}

/** The largest agent.yaml that is read. */
const maxConfigBytes = 2 * 1024 * 1024

async function toDraft(options: RunOptions, { cwd }: Terminal): Promise<NewExperiment> {
  const { dataset, config, recorded, baseline = recorded && 'recorded', repetitions, onMiss, live } = options
  return {
    dataset_ids: dataset,
    ...(baseline !== undefined && { baseline: baseline === 'recorded' ? { recorded: true } : { version: baseline } }),
    ...(config !== undefined && { candidate: { text: await readConfig(path.resolve(cwd, config)) } }),
    ...(repetitions !== undefined && { repetitions }),
    ...((onMiss ?? live) && { tools: { ...(onMiss && { on_miss: onMiss }), ...(live && { live }) } }),
  }
}

async function readConfig(file: string): Promise<string> {
  try {
    if ((await stat(file)).size <= maxConfigBytes) return await readFile(file, 'utf8')
  } catch (error) {
    throw new CommandFailure(2, [`${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`])
  }
  throw new CommandFailure(2, [`${file} has more than ${maxConfigBytes} bytes.`])
}

/** Makes each failure exit code 2: code 1 says that the agent does not pass. */
async function orUnable<T>(work: () => Promise<T>): Promise<T> {
  return work().catch((error: unknown) => {
    throw new CommandFailure(2, error instanceof CommandFailure ? error.lines.map(withoutControls) : [visible(messageWithCause(error))])
  })
}

/** JSON without characters that control a terminal. */
function visibleJson(value: unknown): string {
  return JSON.stringify(value, undefined, 2).replace(/[\u007f-\u009f\p{Cf}\u2028\u2029]/gu, toUnicodeEscape)
}

function toUnicodeEscape(mark: string): string {
  return Array.from({ length: mark.length }, (_, at) => `\\u${mark.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')
}

function toRate(text: string): number {
  const rate = Number(text)
  if (/^\d+(\.\d+)?$/.test(text) && rate <= 1) return rate
  throw new InvalidArgumentError('The value must be a number from 0 to 1.')
}

function toCount(text: string): number {
  if (/^\d{1,7}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('The value must be a whole number.')
}
