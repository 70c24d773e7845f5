import { styleText } from 'node:util'
import type { Command } from 'commander'
import { describeOddities } from '../configuration/models/findings.ts'
import type { AgentConfig } from '../configuration/schema.ts'
import type { Settings } from '../settings/settings.ts'
import { CommandFailure, type CommandContext, type Terminal, withOwnCommand } from './terminal.ts'
import {
  checkArtifacts,
  checkDataDir,
  checkFilesRoot,
  exists,
  checkOutbound,
  checkSecrets,
  checkPublicUrl,
  describeSettings,
} from '../service/checks/installation.ts'
import { checkSearch } from '../service/checks/search.ts'
import { checkStore } from '../service/checks/store.ts'
import { checkSkills } from '../service/checks/skills.ts'
import { checkTools } from '../service/checks/tools.ts'
import { openStoredLogins } from '../service/logins.ts'
import { examineGate } from './doctor-gate.ts'
import { findService } from './running-service.ts'
import { findModelOffers } from './model-advice.ts'
import { checkModels, type Finding } from '../models/check-models.ts'
import { findUnpriced } from '../models/find-prices.ts'
import { findMissing, readSettings } from './prepare.ts'
import { readFile } from 'node:fs/promises'
import { formatProblems, loadAgentConfig, toAgentConfig } from '../configuration/parse.ts'
import type { ConfigurationStore } from '../configuration/configuration-store.ts'
import type { SkillPins } from '../configuration/skills/pins.ts'
import { ConfigError, type ConfigProblem } from '../configuration/problems.ts'
import { parseSource } from '../configuration/change/change.ts'
import { isPrepared, withConfigurations } from './used-configuration.ts'

/** Tools may index large folders, and a model server may load the model first. */
const toolsMs = 60_000
const modelMs = 30_000

export function addDoctor(program: Command, { terminal }: CommandContext): void {
  program
    .command('doctor')
    .description('Check everything that the service needs, and say how to fix each problem.')
    .action(async () => {
      const report = createReport(terminal)
      for await (const finding of examine(terminal)) report.finding(finding)
      for (const { source, line } of await findModelOffers(terminal.environment)) {
        report.finding({ state: 'ok', text: `found ${source}; to use it, in agent.yaml under llms:` })
        report.detail(line)
      }
      const { fail, warn } = report.counts
      if (fail > 0) throw new CommandFailure(1, [`${fail} ${fail === 1 ? 'check' : 'checks'} failed.`])
      terminal.stdout.write(warn > 0 ? `Nothing failed; ${warn} ${warn === 1 ? 'warning' : 'warnings'}.\n` : 'All checks passed.\n')
    })
}

/** Runs the checks in the order of a start. Checks that depend on a failed check are skipped. */
async function* examine(terminal: Terminal): AsyncGenerator<Finding, void> {
  const settings = trySettings(terminal)
  if (Array.isArray(settings)) return yield* settings
  yield describeSettings(settings)
  yield* checkPublicUrl(settings)
  const dataDir = await checkDataDir(settings, findService)
  yield dataDir
  const store = dataDir.state === 'fail' ? [] : await checkStore(settings)
  yield* store
  if (store.length > 0 && store.every(({ state }) => state !== 'fail')) yield* await checkSecrets(settings)
  yield* await checkArtifacts(settings)
  const missing = (await findMissing(settings, terminal.environment)).map((line): Finding => ({
    state: 'fail',
    text: `settings: ${line}`,
    advice: 'A mount may have failed.',
  }))
  yield* missing
  if (missing.length > 0) return
  const { findings, config, pins } = await checkConfiguration(settings)
  yield* findings
  if (store.every(({ state }) => state !== 'fail')) yield* await examineGate(settings)
  const files = await checkFilesRoot(settings)
  yield files
  if (config) yield* describeOddities(config).map(toWarning)
  if (config) yield* findUnpriced(config, terminal.environment).map(toUnpriced)
  if (config) yield checkSearch({ settings, embedding: config.llms.embedding })
  if (config) yield* await checkSkills(config, settings, pins)
  if (config) yield* await examineAgent(config, settings, terminal, files.state !== 'fail')
  yield await checkOutbound(settings)
}

function toWarning(oddity: string): Finding {
  const advice = 'Change the setting, or keep it if the model is newer than this release: the provider decides.'
  return { state: 'warn', text: `configuration: ${oddity}`, advice }
}

function toUnpriced({ path, message }: ConfigProblem): Finding {
  return { state: 'fail', text: `configuration: ${path}: ${message}`, advice: 'Set the prices of the model: USD per million tokens.' }
}

async function examineAgent(config: AgentConfig, settings: Settings, { environment }: Terminal, hasFiles: boolean): Promise<Finding[]> {
  const models = checkModels(config, { environment, timeoutMs: modelMs })
  const logins = await openStoredLogins(settings)
  try {
    const tools = hasFiles ? checkTools(config, settings, { environment, logins: logins.store, timeoutMs: toolsMs }) : []
    return (await Promise.all([models, tools])).flat()
  } finally {
    await logins.close()
  }
}

function trySettings(terminal: Terminal): Readonly<Settings> | Finding[] {
  try {
    return readSettings(terminal)
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error
    return error.lines.map((line) => ({ state: 'fail', text: `settings: ${line}`, advice: 'Correct the environment variable.' }))
  }
}

function createReport({ stdout, environment, command }: Terminal) {
  const isColoured = stdout.isTTY === true && !environment['NO_COLOR']
  const colours = { ok: 'green', warn: 'yellow', fail: 'red' } as const
  const counts = { ok: 0, warn: 0, fail: 0 }
  const detail = (line: string) => stdout.write(`      ${line}\n`)
  return {
    counts,
    detail,
    finding({ state, text, advice, details = [] }: Finding) {
      counts[state]++
      const mark = state.padEnd(4)
      stdout.write(`${isColoured ? styleText(colours[state], mark, { validateStream: false }) : mark}  ${withOwnCommand(text, command)}\n`)
      if (advice !== undefined) detail(withOwnCommand(advice, command))
      details.forEach(detail)
    },
  }
}

interface CheckedConfiguration {
  findings: Finding[]
  /** Present if the configuration is valid. */
  config?: AgentConfig
  /** The pinned skills of a configuration in the database. */
  pins?: SkillPins
}

/** Checks the configuration in the database, or else the file. */
async function checkConfiguration(settings: Settings): Promise<CheckedConfiguration> {
  const { databaseUrl } = settings
  if (databaseUrl === undefined) return checkConfigFile(settings)
  try {
    if (!(await isPrepared(settings))) return await checkConfigFile(settings)
    return (await withConfigurations(settings, (store) => checkStored(store, settings))) ?? (await checkConfigFile(settings))
  } catch (error) {
    // A database that cannot be reached is reported by the check of the store.
    if (!(error instanceof ConfigError)) return checkConfigFile(settings)
    const advice =
      'A later version of agent-core may have written the configuration. "agent-core config restore" restores an earlier version.'
    const lines = formatProblems('the database', error)
    return { findings: lines.map((line) => ({ state: 'fail', text: `configuration: ${line}`, advice })) }
  }
}

/** Checks the newest configuration in the database; undefined if there is none, and the file will become the first. */
async function checkStored(store: ConfigurationStore, settings: Settings): Promise<CheckedConfiguration | undefined> {
  const newest = await store.newest()
  if (!newest) return undefined
  const { config } = newest.used ? { config: toAgentConfig(newest.used) } : parseSource(newest.text)
  const findings: Finding[] = [{ state: 'ok', text: `configuration: version ${newest.version} in the database` }]
  const text = await readFile(settings.agentConfig, 'utf8').catch(() => undefined)
  if (text === undefined || (await store.seenAt(text)) !== undefined) return { findings, config, pins: newest.skills ?? {} }
  const edit = await checkConfigFile(settings)
  const advice = 'A running service applies the edit if possible; otherwise the next start does.'
  if (edit.config)
    findings.push({ state: 'warn', text: `configuration: ${settings.agentConfig} has an edit that is not in effect`, advice })
  else findings.push(...edit.findings.map((finding): Finding => ({ ...finding, state: 'warn' })))
  return { findings, config, pins: newest.skills ?? {} }
}

async function checkConfigFile({ agentConfig }: Settings): Promise<CheckedConfiguration> {
  if (!(await exists(agentConfig)))
    return { findings: [{ state: 'ok', text: `configuration: ${agentConfig} is created by "agent-core serve --init"` }] }
  try {
    return { findings: [{ state: 'ok', text: `configuration: ${agentConfig}` }], config: await loadAgentConfig(agentConfig) }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const advice = 'Correct the file, and run "agent-core config check".'
    return { findings: formatProblems(agentConfig, error).map((line) => ({ state: 'fail', text: `configuration: ${line}`, advice })) }
  }
}
