import { setTimeout as sleep } from 'node:timers/promises'
import { send, type Caller, type Load } from './service.ts'

/** Direct access to a replica, without the load balancer. */
export interface Target {
  url: string
  /** Name and number of the start. */
  name(): string
}

/** Reads and changes the configuration with `if-match`, concurrently with other administrators. Some changes are of a version read earlier, and some are made at once. */
export async function configure(client: string, { caller, random, isActive }: Load): Promise<void> {
  const write = (value: string, ifMatch: string) => {
    const body = { configuration: { description: value }, ...(random() < 0.3 ? { in_memory_only: true } : {}) }
    const request = { method: 'PUT', path: '/core/v1/agent/config', body, headers: { 'if-match': ifMatch } }
    return send(caller, [client, 'write configuration', { ifMatch, value }], request, (_, headers) => ({
      version: headers.get('etag') ?? '',
    }))
  }
  let earlier: string | undefined
  for (let n = 0; isActive(); n++) {
    const read = await readConfiguration(caller, client)
    if (read.reply && random() < 0.5) {
      const ifMatch = earlier !== undefined && random() < 0.3 ? earlier : read.reply.version
      const simultaneous = random() < 0.5 ? ['a', 'b', 'c'].map((letter) => `${client} ${n} at once ${letter}`) : []
      const values = [`${client} ${n}`, ...simultaneous]
      await Promise.all(values.map((value) => write(value, ifMatch)))
    }
    earlier = read.reply?.version ?? earlier
    await sleep(random() * 600)
  }
}

function readConfiguration(caller: Caller, client: string) {
  return send(caller, [client, 'read configuration', {}], { path: '/core/v1/agent/config' }, (body, headers) => ({
    version: headers.get('etag') ?? '',
    value: body.configuration.description,
  }))
}

/** Creates, uses and revokes keys. Every replica receives requests with the key for longer than the bound after the revocation. */
export async function revoke(client: string, load: Load, targets: readonly Target[]): Promise<void> {
  const { caller, random, isActive } = load
  while (isActive()) {
    let secret = ''
    const request = { method: 'POST', path: '/core/v1/keys', body: { sub: client, roles: ['viewer'] } }
    const { reply } = await send(caller, [client, 'create key', { caller: client }], request, ({ key, jti }) => {
      secret = key
      return { key: jti }
    })
    if (reply) {
      const use = async (ms: number) => {
        for (const until = Date.now() + ms; Date.now() < until && isActive(); await sleep(200 + random() * 200))
          await Promise.all(targets.map((target) => useKey(client, { ...caller, key: secret }, reply.key, target)))
      }
      await use(500)
      const revocation = { method: 'DELETE', path: `/core/v1/keys/${reply.key}` }
      await send(caller, [client, 'revoke key', { key: reply.key }], revocation, () => ({}))
      await use(9000)
    }
    await sleep(200)
  }
}

function useKey(client: string, { key, history }: Caller, jti: string, { url, name }: Target) {
  return history.record(client, 'use key', { key: jti }, async () => {
    const response = await fetch(`${url}/core/v1/me`, { headers: { 'x-service-access': key }, signal: AbortSignal.timeout(useMs) })
    await response.arrayBuffer()
    return { status: response.status, process: name(), reply: {} }
  })
}

const useMs = 20_000
