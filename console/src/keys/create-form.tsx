import { Button, Checkbox, Group, Select, TextInput } from '@mantine/core'
import { useState, type FormEvent } from 'react'
import { messageOf } from '../api/errors.ts'
import { useMe } from '../api/me.ts'
import { RowsSkeleton } from '../parts/skeletons.tsx'
import { useRoles, type NewKey, type Role } from './queries.ts'
import { lackedBy, permissionsOf, permissionTexts, roleTexts } from './roles.ts'
import styles from './keys.module.css'

interface CreateFormProps {
  onCreate: (key: NewKey) => void
  onCancel: () => void
  isPending: boolean
  error: Error | null
}

const lifetimes = [
  { value: '1d', label: '1 day' },
  { value: '7d', label: '7 days' },
  { value: '30d', label: '30 days' },
  { value: '90d', label: '90 days' },
  { value: '365d', label: '1 year' },
  { value: '', label: 'Other' },
]

/** The fields of a new key: caller, roles, expiry. The input stays after a refusal of the service. */
export function CreateForm({ onCreate, onCancel, isPending, error }: CreateFormProps) {
  const [sub, setSub] = useState('')
  const [roles, setRoles] = useState<string[]>(['user'])
  const [choice, setChoice] = useState('30d')
  const [otherRole, setOther] = useState('')
  const expires = choice || otherRole.trim()
  const isComplete = sub.trim() !== '' && roles.length > 0 && expires !== ''
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (isComplete && !isPending) onCreate({ sub: sub.trim(), roles, expires })
  }
  return (
    <form onSubmit={submit} className={styles.form}>
      <TextInput
        label="Caller"
        description="The person or program that the key stands for. Its conversations, files and memories belong to this name."
        placeholder="alice"
        required
        maxLength={256}
        value={sub}
        onChange={(event) => setSub(event.currentTarget.value)}
        data-autofocus
      />
      <RoleChoice value={roles} onChange={setRoles} />
      <div className={styles.lifetime}>
        <Select
          label="Expires after"
          data={lifetimes}
          value={choice}
          onChange={(value) => setChoice(value ?? '')}
          allowDeselect={false}
          w={180}
        />
        {choice === '' && (
          <TextInput
            label="Lifetime"
            placeholder="12h"
            description="A number and s, m, h or d"
            inputWrapperOrder={['label', 'input', 'description']}
            required
            w={200}
            value={otherRole}
            onChange={(event) => setOther(event.currentTarget.value)}
          />
        )}
      </div>
      {error && (
        <p role="alert" className={styles.error}>
          {messageOf(error)}
        </p>
      )}
      <Group justify="flex-end">
        <Button variant="default" onClick={onCancel}>
          Cancel
        </Button>
        <Button type="submit" loading={isPending} disabled={!isComplete}>
          Create
        </Button>
      </Group>
    </form>
  )
}

function RoleChoice({ value, onChange }: { value: string[]; onChange: (roles: string[]) => void }) {
  const { data: roles, error } = useRoles()
  const ownPermissions = useMe().data?.permissions ?? []
  return (
    <Checkbox.Group label="Roles" required value={value} onChange={onChange} error={error && messageOf(error)}>
      <div className={styles.roles}>
        {!roles && !error && <RowsSkeleton count={4} />}
        {roles?.map((role) => (
          <RoleBox key={role.name} role={role} lacked={lackedBy(ownPermissions, role)} />
        ))}
      </div>
    </Checkbox.Group>
  )
}

/** A role to choose: the purpose, and the permissions on demand. A role with more permissions than the caller's key cannot be chosen. */
function RoleBox({ role: { name, permissions }, lacked }: { role: Role; lacked: readonly string[] }) {
  const words = permissionsOf([{ permissions }])
  const count = words.length === 1 ? '1 permission' : `${words.length} permissions`
  return (
    <div>
      <Checkbox
        value={name}
        label={name}
        disabled={lacked.length > 0}
        description={roleTexts[name] ?? (words.map((word) => permissionTexts[word] ?? word).join(', ') || 'Nothing')}
      />
      {lacked.length > 0 && (
        <p className={styles.lacked}>
          Your ownPermissions key does not permit: {lacked.map((word) => permissionTexts[word] ?? word).join(', ')}.
        </p>
      )}
      {words.length > 0 && (
        <details className={styles.permissions}>
          <summary>{count}</summary>
          <ul>
            {words.map((word) => (
              <li key={word}>
                {permissionTexts[word] ?? 'Of a newer version'} <code className={styles.id}>{word}</code>
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  )
}
