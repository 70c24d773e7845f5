import { Type, type Static } from 'typebox'
import type { ContainmentPolicy } from '../agent/taint.ts'
import { maxEntries, strict } from './schema-parts.ts'
import { Host } from './server-tool-schemas.ts'

const verdicts = ['allow', 'approve', 'refuse'] as const

/** Rules for calls after the model has read text of strangers. */
export const ContainmentConfig = Type.Object(
  {
    after_untrusted: Type.Enum([...verdicts], {
      default: 'allow',
      description:
        'What happens to `write` calls after the model was shown text of strangers. `approve`: each waits for a decision. `refuse`: each fails, and the run goes on.',
    }),
    outbound: Type.Enum([...verdicts], {
      default: 'allow',
      description: 'What happens to calls that carry text outside after the model was shown text of strangers and private data.',
    }),
    outbound_hosts: Type.Array(Host, {
      default: [],
      maxItems: maxEntries,
      description:
        'Hosts that `web_page` and `http_request` may always reach, such as `api.example.com`. Redirects to other hosts are refused then. Pictures of the hosts stay in answers.',
    }),
    answers: Type.Enum(['keep', 'strip_images'], {
      default: 'keep',
      description:
        'Pictures in answers. `strip_images`: pictures of other hosts than the service and `outbound_hosts` are replaced by their text, because a client that loads a picture sends its address to the host.',
    }),
  },
  { ...strict, description: 'Limits what text of strangers, which the model reads, can cause. Default: nothing is held.' },
)

export function toPolicy(config: Static<typeof ContainmentConfig>): ContainmentPolicy {
  return {
    afterUntrusted: config.after_untrusted,
    outbound: config.outbound,
    outboundHosts: config.outbound_hosts,
    ...(config.answers === 'strip_images' && { stripsImages: true }),
  }
}
