import type { DeviceView } from '@herald/client'
import { Button, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { explain } from '../../api/calls.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { ExplanationView } from '../../components/explanation-view.tsx'
import { Panel } from '../../components/panel.tsx'
import { useAppId } from '../../session/session.ts'

/** Shows which channel a text push to this device would use. */
export function ExplainPanel({ device }: { device: DeviceView }) {
  const { t } = useTranslation()
  const appId = useAppId()
  const explaining = useMutation({
    mutationFn: () =>
      explain(appId, JSON.stringify({ push_token: device.push_token, message: { title: t('device.test') } })),
  })
  return (
    <Panel
      title={t('send.explain')}
      aside={
        <Button
          size="xs"
          variant="default"
          loading={explaining.isPending}
          onClick={() => explaining.mutate()}
        >
          {t('send.explainButton')}
        </Button>
      }
    >
      <Stack gap="xs">
        {explaining.isError && <ErrorAlert error={explaining.error} />}
        {explaining.data ? (
          <ExplanationView device={device.device_guid} explanation={explaining.data} />
        ) : (
          <Text size="sm" c="dimmed">
            {t('device.explainHint')}
          </Text>
        )}
      </Stack>
    </Panel>
  )
}
