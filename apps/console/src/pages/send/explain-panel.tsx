import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { explain, findDevice } from '../../api/calls.ts'
import { useAppId } from '../../app/session.ts'
import { Explained } from '../../parts/explained.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Problem } from '../../parts/problem.tsx'

/** Asks where one device would get this message, without sending it. */
export function ExplainPanel({ text }: { text(pushToken: string): string }) {
  const { t } = useTranslation()
  const appId = useAppId()
  const [wanted, setWanted] = useState('')
  const asking = useMutation({
    mutationFn: async () => {
      const device = await findDevice(appId, wanted.trim())
      return device && { device, explanation: await explain(appId, text(device.push_token)) }
    },
  })
  return (
    <Panel title={t('send.explain')}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          asking.mutate()
        }}
      >
        <Stack gap="sm">
          <TextInput
            label={t('send.explainDevice')}
            description={t('send.explainHint')}
            value={wanted}
            required
            withAsterisk={false}
            onChange={({ currentTarget }) => setWanted(currentTarget.value)}
          />
          <Group justify="flex-end">
            <Button type="submit" variant="default" loading={asking.isPending}>
              {t('send.explainButton')}
            </Button>
          </Group>
          {asking.isError && <Problem error={asking.error} />}
          {asking.isSuccess && !asking.data && (
            <Text role="status" size="sm">
              {t('send.explainNone')}
            </Text>
          )}
          {asking.data && (
            <Explained device={asking.data.device.device_guid} explanation={asking.data.explanation} />
          )}
        </Stack>
      </form>
    </Panel>
  )
}
