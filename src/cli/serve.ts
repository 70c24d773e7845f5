import { once } from 'node:events'
import type { Command } from 'commander'
import type { Service } from '../service.ts'
import type { Settings } from '../settings/settings.ts'
import { adviseOnModels } from './model-advice.ts'
import { createLogger } from './logger.ts'
import { createMissing, readSettings, refuseMissing } from './prepare.ts'
import { withdraw, addressOf, failToListen } from './running-service.ts'
import { print, type CommandContext } from './terminal.ts'
import { type ReadyInfo, createProcesses, findSupervisor, type Supervisor } from './workers/processes.ts'
import { openConnections } from './workers/connections.ts'
import { shareMetrics } from './workers/gather-metrics.ts'
import { supervise } from './workers/supervise.ts'
import { keepStartSmall } from './small-start.ts'
import { variableGroups, type Variable } from '../settings/variables.ts'

/** Time that running chats have to finish after SIGTERM. */
const drainMs = 30_000
/** Time for load balancers to notice the stop. A request on a closed socket breaks, while a refused request is sent to another replica. */
const noticeMs = 3000
/** Time before the end of the notice in which the supervisor passes no more connections, so that each passed connection is served. */
const lastPassedMs = 200
/** Time for closing the service after the chats have ended. */
const closeMs = 15_000

export function addServe(program: Command, context: CommandContext): void {
  program
    .command('serve')
    .description('Start the service.')
    .option('--init', 'create agent.yaml and sample files if they are missing')
    .addHelpText('after', variablesHelp)
    .action(({ init = false }: { init?: boolean }) => serve({ ...context, mayMakeSample: init }))
}

interface ServeContext extends CommandContext {
  /** True if a service without a configuration gets the sample. */
  mayMakeSample: boolean
}

async function serve(context: ServeContext): Promise<void> {
  const { terminal } = context
  const settings = readSettings(terminal)
  const supervisor = findSupervisor()
  if (supervisor) return serveAsWorker(settings, supervisor, context)
  const createdPaths = context.mayMakeSample ? await createMissing(settings) : []
  if (!context.mayMakeSample) await refuseMissing(settings, terminal.environment)
  const onReady: OnReady = (url, ready) =>
    greet({ url, ...ready, createdPaths, publicUrl: settings.publicUrl, workers: settings.workers }, context)
  if (settings.workers > 1) await serveByWorkers(settings, onReady, context)
  else await serveAlone(settings, onReady, context)
}

type OnReady = (url: string, ready: ReadyInfo) => void

async function serveAlone(settings: Settings, onReady: OnReady, context: ServeContext): Promise<void> {
  const { stopping } = context.terminal
  const endStart = keepStartSmall()
  // Imported on demand: a supervisor never loads the service, and stays small.
  const { start } = await import('./start.ts')
  const { service, url, release } = await start({ ...context, settings })
  onReady(url, await toReady(service, context))
  endStart()
  if (!stopping.aborted) await once(stopping, 'abort')
  print(context.terminal, stoppingLine)
  withdraw(settings.dataDir)
  // A service with the embedded database has no other replica, so a notice has no use.
  await service.close(drainMs, settings.databaseUrl === undefined ? 0 : noticeMs)
  release()
}

async function serveByWorkers(settings: Settings, onReady: OnReady, context: CommandContext): Promise<void> {
  const { stopping, stdout } = context.terminal
  const connections = await openConnections(settings).catch((error: unknown) => failToListen(error, settings))
  const url = addressOf(settings.host, connections.port)
  stopping.addEventListener('abort', () => print(context.terminal, stoppingLine), { once: true })
  await supervise({
    processes: createProcesses(),
    connections,
    url,
    count: settings.workers,
    stopping,
    stopMs: drainMs + closeMs,
    noticeMs,
    log: await createLogger(settings, stdout, { isQuiet: false }),
    onReady: (ready) => onReady(url, ready),
  })
}

/** Serves as a worker, which prints nothing but its log. */
async function serveAsWorker(settings: Settings, supervisor: Supervisor, context: ServeContext): Promise<void> {
  try {
    const metrics = shareMetrics(supervisor)
    const url = await askForAddress(supervisor)
    const endStart = keepStartSmall()
    const { startWorker } = await import('./start.ts')
    const service = await startWorker({ ...context, settings, worker: supervisor, frontDoor: { url, metrics } })
    const stopping = AbortSignal.any([context.terminal.stopping, supervisor.outlive()])
    supervisor.onMessage(({ kind }, connection) => {
      if (kind !== 'connection') return
      supervisor.send({ kind: 'taken' })
      if (connection) service.take(connection)
    })
    supervisor.send({ kind: 'ready', ...(await toReady(service, context)) })
    endStart()
    if (!stopping.aborted) await once(stopping, 'abort')
    // New connections are refused as stopping until the supervisor stops passing them.
    const leaving = setTimeout(() => supervisor.send({ kind: 'leaving' }), noticeMs - lastPassedMs)
    await service.close(drainMs, noticeMs).finally(() => clearTimeout(leaving))
    await metrics.sendLast()
  } finally {
    supervisor.leave()
  }
}

function askForAddress({ send, onMessage }: Supervisor): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  onMessage((message) => {
    if (message.kind === 'address') resolve(message.url)
  })
  send({ kind: 'hello' })
  return promise
}

async function toReady({ agent, adminKeyFile }: Service, { terminal }: CommandContext): Promise<ReadyInfo> {
  const example = agent.config.conversation_starters.find(({ message }) => message !== '' && message.length <= maxExampleCharacters)
  const advice = await adviseOnModels(agent.config, terminal.environment)
  return { adminKeyFile, advice, example: example?.message ?? 'What can you do?' }
}

/** A longer question does not fit on a line to paste. */
const maxExampleCharacters = 200

interface Greeting extends ReadyInfo {
  url: string
  publicUrl: string | undefined
  createdPaths: readonly string[]
  workers: number
}

function greet({ url, publicUrl, adminKeyFile, advice, example, createdPaths, workers }: Greeting, context: CommandContext): void {
  if (createdPaths.length > 0) print(context.terminal, `Created ${createdPaths.join(' and ')}`)
  print(context.terminal, `Agent Core ${context.version} listens on ${url}${workers > 1 ? ` with ${workers} workers` : ''}`)
  print(context.terminal, `Console: ${publicUrl ?? url}/console/ (sign in with: ${context.terminal.command} console)`)
  print(context.terminal, ...advice)
  print(context.terminal, 'Try it:')
  print(
    context.terminal,
    `  curl -s ${url}/core/v1/chain -H "x-service-access: $(cat ${adminKeyFile})" -H 'content-type: application/json' \\`,
  )
  // A single quote must not end the quoted string of the shell.
  const content = JSON.stringify(example).replaceAll("'", String.raw`'\''`)
  print(context.terminal, `    -d '{"messages": [{"role": "user", "content": ${content}}]}'`)
  print(context.terminal, `Read more: ${url}/docs/`)
}

const stoppingLine = 'Stopping: finishing the running chats.'

/** The environment variables for `serve --help`: name and default, then the first sentence of the description. */
function variablesHelp(): string {
  const groups = variableGroups.map(({ title, variables }) => {
    const lines = Object.entries<Variable>(variables).map(
      ([name, variable]) => `  ${name}${defaultOf(variable)}\n      ${firstSentence(variable)}`,
    )
    return `${title}:\n${lines.join('\n')}`
  })
  return `\nEnvironment variables, read once at the start:\n\n${groups.join('\n\n')}`
}

function defaultOf({ default: value, unset }: Variable): string {
  const text = value || unset
  return text === undefined ? '' : ` (${plain(text)})`
}

function firstSentence({ description }: Variable): string {
  return plain(/^.*?[.](?= |$)/.exec(description)![0])
}

function plain(text: string): string {
  return text.replaceAll('`', '')
}
