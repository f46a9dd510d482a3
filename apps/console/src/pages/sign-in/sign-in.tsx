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
import icon from '../../app/icon.svg'
import { Preferences } from '../../app/preferences.tsx'
import { enter } from '../../app/session.ts'
import { Problem } from '../../parts/problem.tsx'

type Role = 'application' | 'operator'

export default function SignIn({ ended }: { ended: boolean }) {
  const { t } = useTranslation()
  const queries = useQueryClient()
  const [role, setRole] = useState<Role>('application')
  const [appId, setAppId] = useState('')
  const [secret, setSecret] = useState('')
  const entering = useMutation({
    mutationFn: (credentials: Credentials) => signIn(credentials),
    onSuccess: (session) => enter(queries, session),
  })
  const title = t('signIn.title')
  useEffect(() => {
    document.title = title
  }, [title])
  const operator = role === 'operator'
  return (
    <Center component="main" className="ground" mih="100vh" p="md">
      <Paper withBorder p="xl" w="100%" maw={420}>
        <form
          onSubmit={(event) => {
            event.preventDefault()
            entering.mutate(
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
            {ended && !entering.isError && (
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
                entering.reset()
              }}
              data={[
                { value: 'application', label: t('signIn.application') },
                { value: 'operator', label: t('signIn.operator') },
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
            <Problem error={entering.error} />
            <Button type="submit" loading={entering.isPending}>
              {t('signIn.submit')}
            </Button>
          </Stack>
        </form>
      </Paper>
    </Center>
  )
}
