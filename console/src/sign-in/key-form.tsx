import { Button, Group, PasswordInput, Stack } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { messageOf } from '../api/errors.ts'
import { openSession } from '../api/session.ts'

interface KeyFormProps {
  /** True if the sign-in replaces an earlier session: true on the sign-in page, false in the dialog to sign in again. */
  isReplacing?: boolean
  onSignedIn?: () => void
}

/** Field for an access key, and the button that exchanges it for a session. The key is not kept anywhere. */
export function KeyForm({ isReplacing = false, onSignedIn }: KeyFormProps) {
  const queryClient = useQueryClient()
  const [key, setKey] = useState('')
  const signIn = useMutation({
    mutationFn: () => openSession({ key: key.trim() }, queryClient, { isReplacing }),
    onSuccess: () => onSignedIn?.(),
  })
  function submit(event: FormEvent) {
    event.preventDefault()
    if (key.trim() !== '') signIn.mutate()
  }
  return (
    <form onSubmit={submit}>
      <Stack gap="md">
        <PasswordInput
          label="Access key"
          description="From your administrator, or from “agent-core keys create”. On the machine of the service, “agent-core console” signs you in."
          value={key}
          onChange={(event) => setKey(event.currentTarget.value)}
          error={signIn.error && messageOf(signIn.error)}
          autoComplete="off"
          spellCheck={false}
          data-autofocus
          autoFocus
        />
        <Group justify="flex-end">
          <Button type="submit" loading={signIn.isPending} disabled={key.trim() === ''}>
            Sign in
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
