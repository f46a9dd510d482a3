import {
  Alert,
  Button,
  Center,
  Group,
  Paper,
  PasswordInput,
  SegmentedControl,
  Stack,
  TextInput,
  Title,
} from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { signIn } from '../../api/calls.ts'
import type { Credentials } from '../../api/records.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'
import icon from '../../session/icon.svg'
import { Preferences } from '../../session/preferences.tsx'
import { setSession } from '../../session/session.ts'

type Role = 'application' | 'operator'

export default function SignIn({ ended }: { ended: boolean }) {
  const { t } = useTranslation()
  const queries = useQueryClient()
  const [role, setRole] = useState<Role>('application')
  const [appId, setAppId] = useState('')
  const [secret, setSecret] = useState('')
  const signingIn = useMutation({
    mutationFn: (credentials: Credentials) => signIn(credentials),
    onSuccess: (session) => setSession(queries, session),
  })
  const title = t('signIn.title')
  useEffect(() => {
    document.title = title
  }, [title])
  const operator = role === 'operator'
  return (
    <Center component="main" className="background" mih="100vh" p="md">
      <Paper withBorder p="xl" w="100%" maw={420}>
        <form
          onSubmit={(event) => {
            event.preventDefault()
            signingIn.mutate(
              operator
                ? { operator_key: secret.trim() }
                : { app_id: appId.trim(), app_secret: secret.trim() },
            )
          }}
        >
          <Stack>
            <Group justify="space-between">
              <img src={icon} alt="" width={36} height={36} />
              <Group gap="xs">
                <Preferences />
              </Group>
            </Group>
            <Title order={1}>{title}</Title>
            {ended && !signingIn.isError && (
              <Alert role="status" color="yellow" variant="light">
                {t('signIn.expired')}
              </Alert>
            )}
            <SegmentedControl
              fullWidth
              aria-label={t('signIn.as')}
              value={role}
              onChange={(next) => {
                setRole(next as Role)
                setSecret('')
                signingIn.reset()
              }}
              data={[
                { value: 'application', label: t('app.application') },
                { value: 'operator', label: t('app.operator') },
              ]}
            />
            {!operator && (
              <TextInput
                label={t('signIn.appId')}
                value={appId}
                onChange={({ currentTarget }) => setAppId(currentTarget.value)}
                required
                withAsterisk={false}
                autoComplete="username"
                spellCheck={false}
              />
            )}
            <PasswordInput
              key={role}
              label={t(operator ? 'signIn.operatorKey' : 'signIn.appSecret')}
              description={t(operator ? 'signIn.operatorHint' : 'signIn.applicationHint')}
              value={secret}
              onChange={({ currentTarget }) => setSecret(currentTarget.value)}
              required
              withAsterisk={false}
              autoComplete="current-password"
              visibilityToggleButtonProps={{ 'aria-hidden': true }}
            />
            <ErrorAlert error={signingIn.error} />
            <Button type="submit" loading={signingIn.isPending}>
              {t('signIn.submit')}
            </Button>
          </Stack>
        </form>
      </Paper>
    </Center>
  )
}
