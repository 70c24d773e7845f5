import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Budget, Client } from '../../client/src/index.ts'
import { nanoPerUsd } from '../budgets/accounts.ts'
import { toDecimal } from '../budgets/refusal.ts'
import { budgetScopes, type BudgetScope, maxBudgetTokens, maxUsd } from '../configuration/budget-schema.ts'
import type { ServiceOptions } from './running-service.ts'
import { addServiceCommand, ask } from './service-command.ts'
import { CommandFailure, type CommandContext, formatTable, print, type Terminal } from './terminal.ts'

/** Adds commands that ask a running service what is spent, and change limits of budgets there. */
export function addBudgets(program: Command, { terminal }: CommandContext): void {
  const budgets = program
    .command('budgets')
    .description('List budgets of a running service with what is spent; replace and restore limits.')
  addList(budgets, terminal)
  addOverride(budgets, terminal)
  addClear(budgets, terminal)
}

const subjectText = 'what has the limit, as "budgets list" shows it (default: the caller or tenant of the key)'

interface ListOptions extends ServiceOptions {
  name?: string
  scope?: BudgetScope
  session?: string
  request?: string
}

function addList(budgets: Command, terminal: Terminal): void {
  addServiceCommand(budgets, 'list', 'List the current windows that the key may read.')
    .option('--name <name>', 'only windows of this budget')
    .addOption(new Option('--scope <scope>', 'only budgets of this scope').choices(budgetScopes))
    .option('--session <id>', 'only windows of this session')
    .option('--request <id>', 'only windows of the run with this request id')
    .action(async ({ name, scope, session, request, ...service }: ListOptions) => {
      const filter = { limit: 100, name, scope, session_id: session, request_id: request }
      const chosen = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined))
      const rows = [columns]
      await ask(terminal, service, async (client) => {
        for await (const budget of client.budgets.all(chosen)) rows.push(toRow(budget))
      })
      print(terminal, ...formatTable(rows))
    })
}

interface OverrideOptions extends ServiceOptions {
  usd?: number
  tokens?: number
  until?: string
  subject?: string
}

function addOverride(budgets: Command, terminal: Terminal): void {
  addServiceCommand(
    budgets,
    'override <name>',
    'Replace the limit of a budget until a time. The next model call counts with the new limit.',
  )
    .option('--usd <amount>', 'the limit in USD', toUsd)
    .option('--tokens <count>', 'the limit in tokens', toTokens)
    .option('--until <time>', 'an ISO 8601 time with its zone (default: the end of the window)')
    .option('--subject <subject>', subjectText)
    .addHelpText('after', "\nTenants and the service need a key of the administrators' tenant, runs and sessions --subject and --until.")
    .action(async (name: string, { usd, tokens, until, subject, ...service }: OverrideOptions) => {
      if (usd === undefined && tokens === undefined) throw new CommandFailure(2, ['error: budgets override needs --usd or --tokens.'])
      const limit = { ...(usd !== undefined && { usd }), ...(tokens !== undefined && { tokens }) }
      const changed = await ask(terminal, service, async (client) => {
        const end = until ?? (await findEnd(client, name))
        return client.budgets.override(name, { limit, until: end, ...(subject !== undefined && { subject }) })
      })
      print(terminal, `${describe(changed)} until ${changed.override?.until}.`)
    })
}

function addClear(budgets: Command, terminal: Terminal): void {
  addServiceCommand(budgets, 'clear <name>', 'Restore the limit of agent.yaml.')
    .option('--subject <subject>', subjectText)
    .action(async (name: string, { subject, ...service }: ServiceOptions & { subject?: string }) => {
      print(terminal, `${describe(await ask(terminal, service, (client) => client.budgets.clear(name, subject)))}.`)
    })
}

/** The end of the current window of a budget: the windows of all subjects end together. */
async function findEnd(client: Client, name: string): Promise<string> {
  const end = (await client.budgets.list({ name, limit: 1 })).budgets[0]?.resets_at
  if (typeof end === 'string') return end
  throw new CommandFailure(2, [`error: the window of ${name} has no end that this key may read: pass --until.`])
}

const columns = ['budget', 'scope', 'subject', 'limit', 'spent', 'reserved', 'remaining', 'resets', 'override until']

function toRow({ name, scope, subject, limit, spent, reserved, remaining, resets_at: resets, override }: Budget): string[] {
  const amounts = [limit, spent, reserved, remaining].map(toText)
  return [name, scope, subject, ...amounts, resets ?? '-', override?.until ?? '-']
}

function describe({ name, subject, limit }: Budget): string {
  return `The limit of ${name} for ${subject} is ${toText(limit)}`
}

function toText({ usd, tokens }: Budget['limit']): string {
  const parts = [usd !== undefined && `${toDecimal(usd * nanoPerUsd)} USD`, tokens !== undefined && `${tokens} tokens`]
  return parts.filter((part) => part !== false).join(', ')
}

function toUsd(text: string): number {
  const usd = Number(text)
  if (/^\d+(\.\d+)?$/.test(text) && usd <= maxUsd) return usd
  throw new InvalidArgumentError(`The value must be an amount in USD, from 0 to ${maxUsd}.`)
}

function toTokens(text: string): number {
  const tokens = Number(text)
  if (/^\d{1,15}$/.test(text) && tokens <= maxBudgetTokens) return tokens
  throw new InvalidArgumentError(`The value must be a whole number of tokens, from 0 to ${maxBudgetTokens}.`)
}
