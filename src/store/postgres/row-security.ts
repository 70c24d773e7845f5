import type pg from 'pg'
import { everyTenant } from './scopes.ts'
import { messageOf } from '../../errors.ts'

/**
 * The second wall around a tenant's rows, behind the tenant in every `where`: the server shows and takes those alone of the tenant that
 * the connection was set to, and none where it was set to nobody. It holds for the tables' owner too; for superusers, and users with
 * BYPASSRLS, no wall holds: they work as the role `serviceRole`.
 */
export const serviceRole = 'agent_core_service'

const policy = 'agent_core_tenant'

/** Each in a query of its own, which runs once per statement and not once per row. */
const setTo = "(select current_setting('agent_core.tenant', true))"
const isOfTenant = `tenant = ${setTo} or ${setTo} = E'\\x${everyTenant.charCodeAt(0).toString(16).padStart(2, '0')}'`

/** Tables of the schema with a tenant, and whether the wall stands around them. */
const tenantTables = `select table_.relname as name, table_.relrowsecurity and table_.relforcerowsecurity
    and exists (select from pg_policy where polrelid = table_.oid and polname = '${policy}') as "isWalled"
  from pg_class as table_
  join pg_attribute as column_ on column_.attrelid = table_.oid and column_.attname = 'tenant' and not column_.attisdropped
  where table_.relkind in ('r', 'p')
    and table_.relnamespace = (select oid from pg_namespace where nspname = current_schema())
  order by name`

/** Builds the wall around every table of the schema that has a tenant. Looks at the catalogue, so that no table is forgotten. */
export async function enableRowSecurity(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ name: string; isWalled: boolean }>(tenantTables)
  for (const { name } of rows.filter(({ isWalled }) => !isWalled)) {
    const table = client.escapeIdentifier(name)
    await client.query(`begin;
      alter table ${table} enable row level security;
      alter table ${table} force row level security;
      drop policy if exists ${policy} on ${table};
      create policy ${policy} on ${table} using (${isOfTenant}) with check (${isOfTenant});
      commit`)
  }
}

/** Whether the wall holds for the login user, and around every table. */
export interface RowSecurity {
  user: string
  /** As which the service's queries are made, where it is not the user. */
  role: string | undefined
  /** Whether it may work as the role, or make it. */
  canUseRole: boolean
  /** Tables that it does not stand around. */
  unprotected: string[]
}

export async function findRowSecurity(client: pg.Client): Promise<RowSecurity> {
  const { user, bypasses, canUseRole } = await findUser(client)
  const { rows } = await client.query<{ name: string; isWalled: boolean }>(tenantTables)
  const open = rows.filter(({ isWalled }) => !isWalled).map(({ name }) => name)
  return { user, role: bypasses ? serviceRole : undefined, canUseRole, unprotected: open }
}

interface User {
  user: string
  bypasses: boolean
  canUseRole: boolean
}

async function findUser(client: pg.Client): Promise<User> {
  const ask = `select rolname as user, rolsuper or rolbypassrls as bypasses,
      rolsuper or coalesce((select pg_has_role(current_user, oid, 'member') from pg_roles where rolname = '${serviceRole}'), rolcreaterole)
        as "canUseRole"
    from pg_roles where rolname = current_user`
  return (await client.query<User>(ask)).rows[0]!
}

/**
 * The role that the service's queries are made as; undefined where the login user is bound by row-level security itself. Made when it is
 * missing; throws where the user may neither make it nor work as it.
 */
export async function openServiceRole(client: pg.Client): Promise<string | undefined> {
  const { user, bypasses } = await findUser(client)
  if (!bypasses) return undefined
  const { rows } = await client.query<{ bypasses: boolean }>(
    `select rolsuper or rolbypassrls as bypasses from pg_roles where rolname = '${serviceRole}'`,
  )
  if (rows[0]?.bypasses) throw new Error(`The role ${serviceRole} bypasses row-level security; it must not.`)
  try {
    if (rows.length === 0) await make(client)
    await enter(client, user)
  } catch (cause) {
    throw new Error(
      `The user ${user} bypasses row-level security, and can not work as the role ${serviceRole} that does not (${messageOf(cause)}). ` +
        `Use a user that owns the tables and is neither superuser nor BYPASSRLS, or let a superuser run: ` +
        `create role ${serviceRole} nologin; grant ${serviceRole} to ${client.escapeIdentifier(user)}`,
      { cause },
    )
  }
  return serviceRole
}

/** Roles belong to the whole server: another database's service may be just making it. */
async function make(client: pg.Client): Promise<void> {
  await client.query(`create role ${serviceRole} nologin`).catch((error: { code?: string }) => {
    if (error.code !== '42710' && error.code !== '23505') throw error
  })
}

async function enter(client: pg.Client, user: string): Promise<void> {
  const set = () => client.query(`set role ${serviceRole}`)
  await set().catch(async () => {
    await client.query(`grant ${serviceRole} to ${client.escapeIdentifier(user)}`)
    await set()
  })
  await client.query('reset role')
}

/** What the user has made in the schema, but for the book of migrations. */
const ungranted = `select relname as name, relkind as kind from pg_class
  where relnamespace = (select oid from pg_namespace where nspname = current_schema())
    and relowner = (select oid from pg_roles where rolname = current_user)
    and (relkind in ('r', 'p') and relname not like 'kysely\\_%' and not (
        has_table_privilege('${serviceRole}', oid, 'select') and has_table_privilege('${serviceRole}', oid, 'insert')
        and has_table_privilege('${serviceRole}', oid, 'update') and has_table_privilege('${serviceRole}', oid, 'delete'))
      or relkind = 'S' and not has_sequence_privilege('${serviceRole}', oid, 'usage'))`

/** Gives the role what the service needs of the schema's tables. */
export async function grantTables(client: pg.Client): Promise<void> {
  await grantUsage(client, (await client.query<{ name: string }>('select current_schema() as name')).rows[0]!.name)
  const { rows } = await client.query<{ name: string; kind: string }>(ungranted)
  for (const { name, kind } of rows) {
    const right = kind === 'S' ? 'usage on sequence' : 'select, insert, update, delete on table'
    await client.query(`grant ${right} ${client.escapeIdentifier(name)} to ${serviceRole}`)
  }
}

async function grantUsage(client: pg.Client, schema: string): Promise<void> {
  const { rows } = await client.query<{ may: boolean }>(`select has_schema_privilege('${serviceRole}', $1, 'usage') as may`, [schema])
  if (!rows[0]!.may) await client.query(`grant usage on schema ${client.escapeIdentifier(schema)} to ${serviceRole}`)
}

/** Gives the service a schema that the login user has made for it: all that is in it, and what it will make there. */
export async function grantSchema(client: pg.Client, schema: string): Promise<void> {
  const name = client.escapeIdentifier(schema)
  await grantUsage(client, schema)
  for (const [right, kind] of [
    ['select, insert, update, delete', 'tables'],
    ['usage', 'sequences'],
    ['execute', 'functions'],
  ]) {
    await client.query(`grant ${right} on all ${kind} in schema ${name} to ${serviceRole}`)
    await client.query(`alter default privileges in schema ${name} grant ${right} on ${kind} to ${serviceRole}`)
  }
}
