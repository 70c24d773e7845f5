import type pg from 'pg'
import { everyTenant } from './scopes.ts'
import { messageOf } from '../../errors.ts'

/**
 * Row-level security as a second barrier between tenants, beside the tenant in every `where`. The server shows and accepts only rows of the
 * tenant that the connection is set to, and none without a tenant. The policy binds the owner of the tables too. Superusers and users with
 * BYPASSRLS are exempt, so the service then works as the role `serviceRole`.
 */
export const serviceRole = 'agent_core_service'

const policy = 'agent_core_tenant'

/** The tenant of the connection, as a subquery that runs once per statement and not once per row. */
const setTo = "(select current_setting('agent_core.tenant', true))"
const isOfTenant = `tenant = ${setTo} or ${setTo} = E'\\x${everyTenant.charCodeAt(0).toString(16).padStart(2, '0')}'`

/** Tables of the schema with a tenant, and whether row-level security protects each (`isWalled`). */
const tenantTables = `select table_.relname as name, table_.relrowsecurity and table_.relforcerowsecurity
    and exists (select from pg_policy where polrelid = table_.oid and polname = '${policy}') as "isWalled"
  from pg_class as table_
  join pg_attribute as column_ on column_.attrelid = table_.oid and column_.attname = 'tenant' and not column_.attisdropped
  where table_.relkind in ('r', 'p')
    and table_.relnamespace = (select oid from pg_namespace where nspname = current_schema())
  order by name`

/** Enables row-level security on every table of the schema with a tenant. Reads the catalogue, so that no table is forgotten. */
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

/** True when row-level security binds the login user, and covers every table. */
export interface RowSecurity {
  user: string
  /** Role of the service's queries; undefined: the login user. */
  role: string | undefined
  /** True when the login user may use the role, or create the role. */
  canUseRole: boolean
  /** Tables without row-level security. */
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
 * The role of the service's queries; undefined when row-level security binds the login user. Creates a missing role. Throws when the user may
 * neither create nor use the role.
 */
export async function openServiceRole(client: pg.Client): Promise<string | undefined> {
  const { user, bypasses } = await findUser(client)
  if (!bypasses) return undefined
  const { rows } = await client.query<{ bypasses: boolean }>(
    `select rolsuper or rolbypassrls as bypasses from pg_roles where rolname = '${serviceRole}'`,
  )
  if (rows[0]?.bypasses) throw new Error(`The role ${serviceRole} bypasses row-level security; it must not.`)
  try {
    if (rows.length === 0) await createRole(client)
    await tryRole(client, user)
  } catch (cause) {
    throw new Error(
      `The user ${user} bypasses row-level security, and cannot use the role ${serviceRole}, which does not (${messageOf(cause)}). ` +
        `Use a user that owns the tables and is neither superuser nor BYPASSRLS, or let a superuser run: ` +
        `create role ${serviceRole} nologin; grant ${serviceRole} to ${client.escapeIdentifier(user)}`,
      { cause },
    )
  }
  return serviceRole
}

/** Creates the role. Ignores an existing one: roles are global to the server, and the service of another database may create the role too. */
async function createRole(client: pg.Client): Promise<void> {
  await client.query(`create role ${serviceRole} nologin`).catch((error: { code?: string }) => {
    if (error.code !== '42710' && error.code !== '23505') throw error
  })
}

async function tryRole(client: pg.Client, user: string): Promise<void> {
  const set = () => client.query(`set role ${serviceRole}`)
  await set().catch(async () => {
    await client.query(`grant ${serviceRole} to ${client.escapeIdentifier(user)}`)
    await set()
  })
  await client.query('reset role')
}

/** Tables and sequences of the user in the schema without the needed grants, except the tables of migrations. */
const ungranted = `select relname as name, relkind as kind from pg_class
  where relnamespace = (select oid from pg_namespace where nspname = current_schema())
    and relowner = (select oid from pg_roles where rolname = current_user)
    and (relkind in ('r', 'p') and relname not like 'kysely\\_%' and not (
        has_table_privilege('${serviceRole}', oid, 'select') and has_table_privilege('${serviceRole}', oid, 'insert')
        and has_table_privilege('${serviceRole}', oid, 'update') and has_table_privilege('${serviceRole}', oid, 'delete'))
      or relkind = 'S' and not has_sequence_privilege('${serviceRole}', oid, 'usage'))`

/** Grants the role access to the tables of the schema. */
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

/** Grants the role access to a schema of the login user: to all existing objects and to future ones. */
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
