import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { settlesWithin } from '../../concurrency/settles-within.ts'
import type { Finding } from '../../models/check-models.ts'
import type { Settings } from '../../settings/settings.ts'

/** Checks which addresses callbacks and web tools may reach. */
export async function checkOutbound({ outboundAllow }: Settings): Promise<Finding> {
  if (outboundAllow.length === 0) return { state: 'ok', text: 'outbound: callbacks and web tools reach only public addresses' }
  const text = `outbound: public addresses, and ${outboundAllow.join(', ')}`
  const open = outboundAllow.filter((target) => target.endsWith('/0'))
  if (open.length > 0)
    return { state: 'warn', text, advice: `${open.join(', ')} allows every address, including addresses of this machine.` }
  const hosts = outboundAllow.map(toHost).filter((host) => host !== undefined)
  const unknown = (await Promise.all(hosts.map(async (host) => ((await canResolve(host)) ? [] : [host])))).flat()
  if (unknown.length === 0) return { state: 'ok', text }
  return { state: 'warn', text, advice: `No address was found for ${unknown.join(', ')}. Check the names in OUTBOUND_ALLOW.` }
}

const lookupMs = 3000

/** The host name of a target; undefined for addresses and CIDR blocks, which need no look-up. */
function toHost(target: string): string | undefined {
  const host = target.replace(/:\d+$/, '')
  return target.includes('/') || target.includes('[') || isIP(target) !== 0 || isIP(host) !== 0 ? undefined : host
}

/** False if a DNS look-up fails. A slow look-up proves nothing, and counts as found. */
async function canResolve(host: string): Promise<boolean> {
  const isFound = lookup(host).then(
    () => true,
    () => false,
  )
  return (await settlesWithin(isFound, lookupMs)) ? isFound : true
}
