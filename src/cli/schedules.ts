import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Client, NewSchedule, Schedule } from '../../client/src/index.ts'
import { catchUpPolicies, overlapPolicies } from '../schedules/schedule.ts'
import { withoutControls } from './chat/markdown-stream.ts'
import type { ServiceOptions } from './running-service.ts'
import { addServiceCommand, ask } from './service-command.ts'
import { type CommandContext, formatTable, print, type Terminal } from './terminal.ts'

/** Adds commands for the schedules of a running service. */
export function addSchedules(program: Command, { terminal }: CommandContext): void {
  const schedules = program
    .command('schedules')
    .description('List, create, pause, resume, trigger and delete schedules of a running service.')
  addList(schedules, terminal)
  addCreate(schedules, terminal)
  addPause(schedules, terminal)
  const change = { schedules, terminal }
  addChange(change, 'resume', 'Let a schedule fire again. The times of the pause are dropped.', async (client, id) =>
    describe(await client.schedules.resume(id)),
  )
  addChange(change, 'trigger', 'Fire a schedule now. Its next time stays.', trigger)
  addChange(change, 'delete', 'End a schedule. Its runs go on.', async (client, id) => describe(await client.schedules.delete(id)))
}

const columns = ['id', 'name', 'when', 'status', 'next', 'last']

function addList(schedules: Command, terminal: Terminal): void {
  addServiceCommand(schedules, 'list', 'List the schedules that the key may read, newest first.').action(
    async (service: ServiceOptions) => {
      const rows = [columns]
      await ask(terminal, service, async (client) => {
        for await (const schedule of client.schedules.all({ limit: 100 })) rows.push(toRow(schedule))
      })
      print(terminal, ...formatTable(rows).map(withoutControls))
    },
  )
}

interface CreateOptions extends ServiceOptions, Pick<NewSchedule, 'cron' | 'timezone' | 'at' | 'name' | 'overlap' | 'jitter'> {
  message: string
  session?: string
  callbackUrl?: string
  catchUp?: (typeof catchUpPolicies)[number]
  maxFires?: number
  requestId?: string
}

function addCreate(schedules: Command, terminal: Terminal): void {
  addServiceCommand(schedules, 'create', 'Ask the agent again and again, or once at a time.')
    .requiredOption('--message <text>', 'the question')
    .option('--cron <pattern>', 'five fields (minute, hour, day of month, month, day of week), or a name such as @daily')
    .option('--timezone <zone>', 'the IANA time zone of --cron, such as Europe/Berlin')
    .option('--at <time>', 'the one time, in place of --cron: an ISO 8601 time with its zone')
    .option('--name <name>', 'the name (default: the beginning of the question)')
    .option('--callback-url <url>', 'where each answer is sent')
    .option('--session <session>', 'new for each run, same for all runs, or the id of a session (default: new)')
    .addOption(new Option('--overlap <policy>', 'while the run before has not ended (default: skip)').choices(overlapPolicies))
    .addOption(new Option('--catch-up <policy>', 'after an outage (default: latest)').choices(catchUpPolicies))
    .option('--jitter <seconds>', 'the longest delay of each time (default: 0)', toCount)
    .option('--max-fires <count>', 'the runs after which the schedule ends', toCount)
    .option('--request-id <id>', 'makes a repeated command create one schedule')
    .action(async ({ url, key, requestId, ...options }: CreateOptions) => {
      const service = { ...(url !== undefined && { url }), ...(key !== undefined && { key }) }
      const created = await ask(terminal, service, (client) => client.schedules.create(toRequest(options), { requestId }))
      print(terminal, withoutControls(describe(created)))
    })
}

function toRequest({ message, session, callbackUrl, catchUp, maxFires, ...fields }: Omit<CreateOptions, 'requestId'>): NewSchedule {
  const isKind = session === 'new' || session === 'same'
  return {
    ...fields,
    ...(session !== undefined && { session: isKind ? session : { session_id: session } }),
    ...(catchUp !== undefined && { catch_up: { policy: catchUp } }),
    ...(maxFires !== undefined && { max_fires: maxFires }),
    request: { messages: [{ role: 'user', content: message }], ...(callbackUrl !== undefined && { callback_url: callbackUrl }) },
  }
}

function addPause(schedules: Command, terminal: Terminal): void {
  addServiceCommand(schedules, 'pause <id>', 'Let a schedule fire no more until it is resumed.')
    .option('--reason <text>', 'why, for readers of the list')
    .action(async (id: string, { reason, ...service }: ServiceOptions & { reason?: string }) => {
      print(terminal, withoutControls(describe(await ask(terminal, service, (client) => client.schedules.pause(id, reason)))))
    })
}

type Change = (client: Client, id: string) => Promise<string>

function addChange({ schedules, terminal }: { schedules: Command; terminal: Terminal }, name: string, text: string, change: Change): void {
  addServiceCommand(schedules, `${name} <id>`, text).action(async (id: string, service: ServiceOptions) => {
    print(terminal, withoutControls(await ask(terminal, service, (client) => change(client, id))))
  })
}

async function trigger(client: Client, id: string): Promise<string> {
  const { outcome, reason, request_id: requestId } = await client.schedules.trigger(id)
  const details = [reason, requestId && `run ${requestId}`].filter((part) => part !== undefined)
  return `Schedule ${id}: ${[outcome, ...details].join(', ')}.`
}

function toRow({ id, name, cron, timezone, at, status, pause_reason: reason, next_at: next, last }: Schedule): string[] {
  const when = cron === undefined ? (at ?? '') : `${cron} ${timezone}`
  const state = reason === undefined ? status : `${status} (${reason})`
  return [id, name, when, state, next ?? '-', last ? `${last.scheduled_for} ${last.status ?? 'removed'}` : '-']
}

function describe({ id, name, status, pause_reason: reason, next_at: next }: Schedule): string {
  const state = reason === undefined ? status : `${status} (${reason})`
  return `Schedule ${id} "${name}" is ${state}${status === 'active' && next !== null ? `, next at ${next}` : ''}.`
}

function toCount(text: string): number {
  if (/^\d{1,7}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('The value must be a whole number.')
}
